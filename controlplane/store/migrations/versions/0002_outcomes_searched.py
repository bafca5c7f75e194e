"""Outcomes can be searched: their result, and whether a decision gave an order, get columns of their own."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the columns. Results are filled in; no decision of an earlier run can still be pending."""
    op.add_column("decisions", sa.Column("ordered", sa.SmallInteger, nullable=False, server_default="0"))
    op.create_index("ix_decisions_ordered", "decisions", ["ordered", "id"])
    op.add_column("outcomes", sa.Column("result", sa.String, nullable=False, server_default=""))
    op.create_index("ix_outcomes_result", "outcomes", ["result", "decision"])
    outcomes = sa.table("outcomes", sa.column("id"), sa.column("body"), sa.column("result"))
    connection = op.get_bind()
    known = [
        {"row": row.id, "result": json.loads(row.body)["result"]}
        for row in connection.execute(sa.select(outcomes.c.id, outcomes.c.body))
    ]
    if known:
        filled = outcomes.update().where(outcomes.c.id == sa.bindparam("row")).values(result=sa.bindparam("result"))
        connection.execute(filled, known)


def downgrade() -> None:
    """Drops them."""
    op.drop_index("ix_outcomes_result", "outcomes")
    op.drop_column("outcomes", "result")
    op.drop_index("ix_decisions_ordered", "decisions")
    op.drop_column("decisions", "ordered")
