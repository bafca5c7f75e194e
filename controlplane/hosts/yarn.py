"""How does YARN differ from other hosts? Its sources are leaf queues. Their jobs are applications, without stages."""

from controlplane.hosts.kind import HostAnswer, Kind

YARN = Kind(
    name="yarn",
    is_queue=True,
    offers=frozenset({"order_pending", "hold_slots"}),
    application_prefix=lambda start_ms: f"application_{start_ms}_",
    answers={"cap_unsupported": HostAnswer("this ResourceManager's scheduler cannot hold an application to a cap")},
)
