"""How does a test run a command line?"""

from click.testing import Result
from typer.testing import CliRunner

from controlplane.cli.app import app

NOT_THE_ONE = "invalid token; this needs"


def run(*arguments: str, token: str = "", server: str = "", answers: str = "", **environment: str) -> Result:
    """One command line, in this process."""
    extra = {"GRASSHOPPER__CLIENT__SERVER": server, "GRASSHOPPER__CLIENT__TOKEN": token} | environment
    given = {name: value for name, value in extra.items() if value}
    return CliRunner().invoke(app, list(arguments), input=answers, env=given)
