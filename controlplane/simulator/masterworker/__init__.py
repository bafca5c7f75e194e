"""A master with worker nodes and one queue, where policies start spare tasks or relaunch: redundancy's setting."""
