"""First tables: decisions, outcomes, learned, audit, settings."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the tables."""
    op.create_table(
        "decisions",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False, index=True),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("job", sa.String, nullable=False),
        sa.Column("stage", sa.BigInteger, nullable=False),
        sa.Column("stage_attempt", sa.BigInteger, nullable=False),
        sa.Column("task", sa.BigInteger, nullable=False),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("action", sa.SmallInteger, nullable=False),
        sa.Column("reason", sa.SmallInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_decisions_job", "decisions", ["source", "job", "id"])
    op.create_index("ix_decisions_action", "decisions", ["action", "id"])
    op.create_table(
        "outcomes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("decision", sa.BigInteger, nullable=False, index=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False, index=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    for name in ("learned", "settings"):
        op.create_table(
            name,
            sa.Column("key", sa.String, primary_key=True),
            sa.Column("at_ms", sa.BigInteger, nullable=False),
            sa.Column("body", sa.LargeBinary, nullable=False),
        )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Drops the tables."""
    for name in ("audit", "settings", "learned", "outcomes", "decisions"):
        op.drop_table(name)
