"""What outlives a restart: decisions, what was learned, who changed what. Losing it never stops a decision."""
