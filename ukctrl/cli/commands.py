"""The commands, in the order in which the help lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from ukctrl.cli.analyze import analyze
from ukctrl.cli.check import check
from ukctrl.cli.compare import compare
from ukctrl.cli.export import export
from ukctrl.cli.files import init, list_catalogue, schema
from ukctrl.cli.report import report
from ukctrl.cli.reproduce import reproduce
from ukctrl.cli.run import run
from ukctrl.cli.sweep import sweep
from ukctrl.cli.tune import tune

app = typer.Typer(
    name="ukctrl",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _global(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Servo-constraint control of robots: define, compare and design controllers."""
    from ukctrl.cli import terminal

    if version:
        terminal.write(f"ukctrl {_version()}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("list")(list_catalogue)
app.command()(check)
app.command()(analyze)
app.command()(run)
app.command()(compare)
app.command()(tune)
app.command()(sweep)
app.command()(report)
app.command()(export)
app.command()(reproduce)
app.command()(init)
app.command()(schema)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ukctrl")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "(not installed)"
