"""What GRASS's appendix says: how fast a job gets on with copies from the start, or with copies of late tasks."""
