"""Decisions say which run of their source they belong to: its epoch gets a column."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column. The epoch of older decisions is unknown, which is 0."""
    op.add_column("decisions", sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"))


def downgrade() -> None:
    """Drops it."""
    op.drop_column("decisions", "epoch")
