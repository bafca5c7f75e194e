// Which control plane is in control of the host, and what ends with that?
package io.grasshopper.core;

/** Another control plane, a lower mode, the end of a lease, and silence: each gives back what was the host's. */
final class ControlState {
  private final Host host;
  private final Guard guard;
  private final Leases leases;
  private boolean isInControl = true;
  private long planeEpoch = -1;

  ControlState(Host host, Guard guard, Leases leases) {
    this.host = host;
    this.guard = guard;
    this.leases = leases;
  }

  /** Whether this reply comes from another control plane than the last one. */
  boolean isAnother(Reply reply) {
    return planeEpoch != -1 && reply.planeEpoch != planeEpoch;
  }

  void follow(Reply reply) {
    if (isAnother(reply)) {
      guard.run("plane change", () -> host.standDown(""));
    }
    planeEpoch = reply.planeEpoch;
    leases.renew(reply);
    if (isInControl && !reply.isControl()) {
      guard.run("mode change", () -> host.standDown("mode"));
    }
    isInControl = reply.isControl();
  }

  /** True until a reply says otherwise. */
  boolean isInControl() {
    return isInControl;
  }

  /** What is over by now ends on the host. */
  void endLeases() {
    for (String job : leases.takeEnded()) {
      guard.run("lease end", () -> host.leaseEnded(job));
    }
    if (leases.takeSilence()) {
      guard.run("silence", () -> host.standDown("lease_ended"));
    }
  }

  /** All leases end now, and on the host, too. */
  void end() {
    leases.endAll();
    endLeases();
  }
}
