"""What would a policy have done? Simulators with a virtual clock, their workloads and the papers' experiments."""
