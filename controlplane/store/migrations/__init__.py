"""Alembic's folder: `env.py` and one file per change of the tables."""
