"""Grasshopper's control plane: facts about running work go in, orders that beat stragglers come out."""

__version__ = "0.1.0"
