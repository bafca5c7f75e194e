"""Compiled rules of a decision, live and simulated: who may be copied, how many copies, which first, and budgets."""
