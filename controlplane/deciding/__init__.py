"""Who may be copied, how many, and which? Pure and compiled, for live engines and simulators alike."""
