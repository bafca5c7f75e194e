"""Tests, by the package they mirror; `integration`, `browser` and `bench` run real systems."""
