"""Compiled rules of a decision: who may be copied, how many, and which. The cluster simulator calls the first two."""
