"""The command line: a thin face of the library, with imports kept to what a command needs."""

from __future__ import annotations

import contextlib
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

from ukctrl.errors import InputError, UkctrlError, UnknownName

if TYPE_CHECKING:
    from ukctrl.scenario import Scenario

app = typer.Typer(
    name="ukctrl",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

INTERRUPTED = 130
"""What typer makes of a Ctrl-C that no command has caught."""
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""What typer raises for a command line that it does not understand."""

ScenarioName = Annotated[
    str,
    typer.Argument(metavar="SCENARIO", help="A scenario's name, or the path of its .toml file."),
]
Card = Annotated[
    str | None,
    typer.Option("--controller", "-c", metavar="CARD", help="Another controller card."),
]
Cards = Annotated[
    list[str],
    typer.Option("--controller", "-c", metavar="CARD", help="A controller card; give several."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value: --set controller.feedback.alpha=5"
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Where to write; absent: out/NAME."),
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Let the files run the Python code that they name.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


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
def check(
    scenario: ScenarioName,
    controller: Card = None,
    changes: Set = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Look before simulating: ranks, actuation, grip, start, first input."""
    chosen = _scenario(scenario, controller, changes, trust)
    from ukctrl import terminal
    from ukctrl.analysis import check as check_scenario

    with _about(scenario):
        found = check_scenario(chosen)
    terminal.show_check(found, as_json)
    raise typer.Exit(0 if found.ok else 1)


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
    chosen = _scenario(scenario, controller, changes, trust)
    from ukctrl import terminal
    from ukctrl.report import write_report
    from ukctrl.simulation import Loop, simulate

    folder = _folder(out or Path("out") / _file_name(chosen.name))
    with terminal.stoppable(Loop.run.__code__) as stop:
        with _about(scenario), terminal.progress(chosen.title, quiet or as_json) as progress:
            result = simulate(chosen, progress=stop.watch(progress))
        stop.hold()
        result.save(folder)
        write_report(result, folder)
        if not quiet:
            terminal.show_result(result, folder, as_json)
    raise typer.Exit(0 if result.status == "completed" else 1)


@app.command()
def compare(
    scenario: ScenarioName,
    controllers: Cards,
    changes: Set = None,
    out: Out = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run several controllers on the same scenario and set them side by side."""
    base = _scenario(scenario, None, changes, trust)
    from ukctrl import catalog, terminal
    from ukctrl.simulation import Loop
    from ukctrl.study import compare as compare_controllers

    folder = _folder(out or Path("out") / f"{_file_name(base.name)}-compare")
    with terminal.stoppable(Loop.run.__code__) as stop:
        with _about(scenario), terminal.progress(base.title, quiet or as_json) as progress:
            comparison = compare_controllers(
                base,
                [_card(controller, scenario) for controller in controllers],
                beside=catalog.find("scenarios", scenario),
                trust=trust,
                progress=stop.watch(progress),
            )
        stop.hold()
        comparison.save(folder)
        if not quiet:
            terminal.show_comparison(comparison, folder, as_json)
    completed = all(result.status == "completed" for result in comparison.results.values())
    raise typer.Exit(0 if completed else 1)


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


def _scenario(
    name: str, controller: str | None, changes: list[str] | None, trust: bool
) -> Scenario:
    from ukctrl import catalog
    from ukctrl.files import read_toml

    # A misspelt name or a broken file is told at once, before the slow imports.
    read_toml(catalog.find("scenarios", name))
    if controller is not None and not controller.strip():
        raise InputError("--controller must be the name of a card; got nothing.")
    pairs: dict[str, object] = {}
    if controller is not None:
        pairs["controller"] = {"use": _card(controller, name)}
    from ukctrl.tables import parse_value

    for change in changes or []:
        key, equals, text = change.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set must be KEY=VALUE; got '{change}'.")
        pairs[key.strip()] = parse_value(text.strip())
    from ukctrl.scenario import Scenario

    return Scenario.load(name, pairs, trust=trust)


def _card(controller: str, scenario: str) -> str:
    """Return the card that an option names.

    A path starts at the working folder; a name is looked up beside the scenario, in the
    catalogue, and in the workspace that one stands in.
    """
    from ukctrl import catalog

    if controller.endswith(".toml"):
        return str(catalog.find("controllers", Path.cwd() / controller))
    try:
        catalog.find("controllers", controller, catalog.find("scenarios", scenario))
    except UnknownName:
        if controller in catalog.names("controllers"):
            return str(catalog.find("controllers", controller))
    return controller


@contextlib.contextmanager
def _about(scenario: str) -> Iterator[None]:
    """Begin the messages of what does not fit a scenario with its name."""
    try:
        yield
    except UkctrlError as error:
        raise InputError(f"{scenario}: {str(error).removeprefix('scenario: ')}") from None


def _file_name(name: str) -> str:
    """Return a name that stays inside the folder it is written to, whatever a file calls itself."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return kept.strip("-.")[:100] or "run"


def _folder(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise InputError(f"--out must be a folder; '{path}' is a file.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out '{path}' cannot be made: {error.strerror}.") from None
    except ValueError as error:  # such as a NUL in the name
        raise InputError(f"--out '{path}' cannot be made: {error}.") from None
    return path


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; every failure is one line and an exit code, never a traceback.

    Args:
        arguments: What stands after ``ukctrl``; absent: the process's own arguments.
    """
    with warnings.catch_warnings():
        if not sys.warnoptions:  # what NumPy mutters of a run that diverges, its status says better
            warnings.simplefilter("ignore")
        code = _exit_code(arguments)
    if arguments is None:  # the process ends here; a late signal must not spoil its exit code
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def _exit_code(arguments: Sequence[str] | None) -> int:
    try:
        code = app(arguments, prog_name="ukctrl", standalone_mode=False)
    except UsageError as error:
        return _fail(_usage(error), 2)
    except UkctrlError as error:
        return _fail(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except OSError as error:
        return _fail(f"{error.strerror or error}: {error.filename or ''}".rstrip(": ") + ".", 2)
    except Exception as error:
        from ukctrl.plugin import blame

        culprit = blame(error)
        if culprit:
            return _fail(culprit, 2)
        return _fail(  # a defect of ours: say so, without the traceback
            f"internal error: {type(error).__name__}: {error}. This is a defect in ukctrl; "
            "please report it with the command and the files.",
            3,
        )
    if code == INTERRUPTED:
        return _fail("stopped by the user before there was anything to keep.", 1)
    return int(code or 0)


def _usage(error: typer.BadParameter) -> str:
    message = error.format_message().rstrip(".?")
    stop = "?" if "mean" in message else "."
    command = error.ctx.command_path if error.ctx else "ukctrl"
    return f"{message[:1].lower()}{message[1:]}{stop} Try '{command} --help'."


def _fail(message: str, code: int) -> int:
    from ukctrl.terminal import clean

    if sys.stderr is not None:
        print(f"ukctrl: {clean(message)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
