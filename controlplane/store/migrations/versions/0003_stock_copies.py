"""Results of the hosts' own speculation are kept, to compare ours with."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "stock_copies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False, index=True),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("won", sa.SmallInteger, nullable=False),
        sa.Column("core_s", sa.Float, nullable=False),
    )


def downgrade() -> None:
    """Drops it."""
    op.drop_table("stock_copies")
