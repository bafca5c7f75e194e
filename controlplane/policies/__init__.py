"""Which policies are there? Pure functions from a view to a proposal; `registry` is the one table of their names."""
