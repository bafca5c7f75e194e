"""What is said and done in a terminal: one file for each family of commands."""
