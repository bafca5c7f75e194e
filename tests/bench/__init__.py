"""Benchmarks: rows of measured numbers beside a peer measured in the same run."""
