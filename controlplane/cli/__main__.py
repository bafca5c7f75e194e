"""`python -m controlplane.cli`: what `grasshopper` does, where it is not on the path."""

from controlplane.cli.app import app

app()
