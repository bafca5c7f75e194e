"""Which numbers steer the store?"""

from dataclasses import dataclass, field

from controlplane.model.parameters import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Where decisions are kept, for how long, and how much may wait to be written."""

    url: str = field(
        default="sqlite:///grasshopper.db", metadata={"about": "An SQLAlchemy URL, or the path of an SQLite file."}
    )
    keep_days: float = setting(30.0, 0.0, 3650.0, "Decisions older than this are deleted.")
    keep_rows: int = setting(1_000_000, 1, 10**9, "Decisions beyond this number are deleted, oldest first.")
    queue_rows: int = setting(50_000, 1, 10_000_000, "Rows that may wait to be written; more are dropped and counted.")
    recent_rows: int = setting(2000, 1, 1_000_000, "Newest decisions kept in memory, readable without the store.")
    batch_rows: int = setting(1000, 1, 100_000, "Rows written in one transaction.")
    retry_s: float = setting(2.0, 0.01, 3600.0, "Pause before writing is tried again after a failure.")
    sweep_every_s: float = setting(60.0, 0.01, 86_400.0, "How often old rows are looked for.")
