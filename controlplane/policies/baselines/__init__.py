"""The policies that the papers compare themselves with."""
