"""What each command does, with imports kept to what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.analyzing import analyze
from ukctrl.cli.checking import check
from ukctrl.cli.comparing import compare
from ukctrl.cli.export import export
from ukctrl.cli.inputs import about, file_name, folder_of, scenario_of
from ukctrl.cli.options import Card, Json, Out, Quiet, ScenarioName, Set, Trust
from ukctrl.cli.reporting import report
from ukctrl.cli.reproduction import reproduce
from ukctrl.cli.sweeping import sweep
from ukctrl.cli.tuning import tune
from ukctrl.errors import InputError

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
    from ukctrl import terminal

    if version:
        terminal.write(f"ukctrl {_version()}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_catalogue(
    what: Annotated[
        str | None, typer.Argument(metavar="[robots|controllers|scenarios]", help="Only these.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List what there is, with one line each."""
    from ukctrl import catalog, terminal
    from ukctrl.errors import unknown_name
    from ukctrl.files import read_toml

    if what is not None and what not in catalog.KINDS:
        raise unknown_name("kind of content", what, catalog.KINDS)
    kinds = [kind for kind in catalog.KINDS if what in (None, kind)]
    found: dict[str, dict[str, str]] = {}
    for kind in kinds:
        entries: dict[str, str] = {}
        for name in catalog.names(kind):
            try:
                title = read_toml(catalog.find(kind, name)).get("title", "")
                entries[name] = str(title)
            except InputError as error:  # one broken file must not hide the others
                entries[name] = f"(cannot be read: {error})"
        found[kind] = entries
    terminal.show_catalogue(found, as_json)


@app.command()
def run(
    scenario: ScenarioName,
    controller: Card = None,
    changes: Set = None,
    out: Out = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario and write its result, figures and report."""
    chosen = scenario_of(scenario, controller, changes, trust)
    from ukctrl import terminal
    from ukctrl.loop import Loop
    from ukctrl.report import write_report
    from ukctrl.simulation import simulate

    with terminal.stoppable(Loop.run.__code__) as stop:
        folder = folder_of(out or Path("out") / file_name(chosen.name))
        with about(scenario), terminal.progress(chosen.title, quiet or as_json) as progress:
            result = simulate(chosen, progress=stop.watch(progress))
        stop.hold()
        result.save(folder)
        write_report(result, folder)
        if not quiet:
            terminal.show_result(result, folder, as_json)
    raise typer.Exit(0 if result.status == "completed" else 1)


app.command()(analyze)
app.command()(check)
app.command()(compare)
app.command()(export)
app.command()(tune)
app.command()(sweep)
app.command()(report)
app.command()(reproduce)


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
) -> None:
    """Start a workspace: the three folders, with a scenario of your own to edit."""
    from ukctrl import terminal
    from ukctrl.workspace import create

    terminal.show_workspace(create(directory), directory)


@app.command()
def schema(
    kind: Annotated[
        str, typer.Argument(metavar="[scenario|controller|robot]", help="Which file format.")
    ] = "scenario",
) -> None:
    """Print the JSON Schema of a file format, for editors."""
    from ukctrl import terminal
    from ukctrl.workspace import json_schema

    terminal.write_json(json_schema(kind))


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ukctrl")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "(not installed)"
