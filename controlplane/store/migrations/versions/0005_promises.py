"""What was promised of jobs with a deadline is kept, and whether it was kept."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "promises",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False, index=True),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("job", sa.String, nullable=False),
        sa.Column("first_pocd", sa.Float),
        sa.Column("newest_pocd", sa.Float),
        sa.Column("first_with_copies", sa.Float),
        sa.Column("kept", sa.SmallInteger, nullable=False),
    )
    op.create_index("ix_promises_job", "promises", ["source", "job", "id"])


def downgrade() -> None:
    """Drops it."""
    op.drop_table("promises")
