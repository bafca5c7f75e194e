"""`python -m controlplane.cli`: the same as `grasshopper`, if it is not on the path."""

from controlplane.cli.app import app

app()
