"""Which policies are there? Pure functions from a view to a proposal; `registry` is the table of names."""
