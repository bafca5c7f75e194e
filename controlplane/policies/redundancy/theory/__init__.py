"""What the formulas of "redundancy and relaunch" say: moments, waits, and where they are best."""
