"""How facts become decisions: one scheduler, its admission and its budgets."""
