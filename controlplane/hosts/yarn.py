"""What is YARN's own? Its sources are leaf queues, whose jobs are applications; they run no stages."""

from controlplane.hosts.kind import HostAnswer, Kind

YARN = Kind(
    name="yarn",
    is_queue=True,
    answers={"cap_unsupported": HostAnswer("this ResourceManager's scheduler cannot hold an application to a cap")},
)
