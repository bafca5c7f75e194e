"""Which numbers steer the live driver?"""

from dataclasses import dataclass, field

from controlplane.model.parameters import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """Pace, bounds and patience of the live driver. `controlplane.settings` fills it from file and environment."""

    cycle_gap_ms: int = setting(20, 0, 1000, "Cycles start at least this far apart, so facts gather.")
    cycle_share: float = setting(0.25, 0.01, 1.0, "Share of time that cycles may take.")
    longest_wait_ms: int = setting(50, 0, 10_000, "A report waits no longer than this for a cycle to start.")
    queue_reports: int = setting(5000, 1, 1_000_000, "Reports that may wait for a cycle; more are answered 503.")
    max_sources: int = setting(10_000, 1, 1_000_000, "Sources that may be attached at once.")
    sources_per_address: int = setting(4000, 1, 1_000_000, "Sources from one address; an application's token has 20.")
    message_facts: int = setting(5000, 100, 1_000_000, "Facts in one message.")
    source_facts_per_s: int = setting(10_000, 1, 1_000_000, "Facts per second of one source; 50 updates count as one.")
    source_burst: int = setting(40_000, 1, 10_000_000, "Facts that a source may send beyond that before it must wait.")
    source_attempts: int = setting(5000, 1, 1_000_000, "Attempts that may run in one source.")
    max_attempts: int = setting(200_000, 1, 10_000_000, "Attempts in all sources; beyond it each has an equal share.")
    cycle_facts: int = setting(
        3000, 1, 1_000_000, "Facts of a cycle; those of sources that sent more wait for the next."
    )
    fast_interval_ms: int = setting(100, 10, 10_000, "A source with running work reports this often, at best.")
    sources_per_s: int = setting(1000, 1, 100_000, "Syncs per second to aim at when there are many sources.")
    full_reports_per_s: int = setting(200, 1, 10_000, "Full reports asked for per second, after a restart.")
    forget_after_s: float = setting(60.0, 1.0, 86_400.0, "A source silent for this long is forgotten.")
    first_report_age_s: float = setting(2_592_000.0, 1.0, 1e9, "A source's first report contains nothing older.")
    snapshot_age_s: float = setting(1.0, 0.0, 60.0, "Pages and REST read a state at most this old.")
    learned_every_s: float = setting(30.0, 1.0, 3600.0, "Learned values are stored this often.")
    event_clients: int = setting(50, 1, 10_000, "Clients that may follow decisions as they are recorded.")
    event_backlog: int = setting(1000, 1, 100_000, "Decisions that one of them may lag behind before it is cut off.")
    history_jobs: int = setting(500, 1, 100_000, "Jobs remembered for the decision page.")
    history_attempts: int = setting(20_000, 1, 1_000_000, "Attempts remembered for the decision page.")
    record_to: str = field(
        default="",
        metadata={"about": "Folder for a recording of each run, all calls and decisions of its engine; empty: none."},
    )
    record_mb: int = setting(100, 1, 100_000, "Size at which a recording ends; the newest five are kept.")
    history_age_s: float = setting(7200.0, 1.0, 864_000.0, "Ended jobs are remembered this long.")
