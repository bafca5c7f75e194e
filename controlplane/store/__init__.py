"""What survives a restart: decisions, learned state, who changed what. Losing it never stops a decision."""
