"""The command line: its commands in the order of the help, each failure one line and a code."""

from __future__ import annotations

import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn, cast

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
from ukctrl.cli.terminal.lines import notice, write
from ukctrl.cli.tune import tune
from ukctrl.cli.view import view
from ukctrl.core.errors import UkctrlError
from ukctrl.core.own_processes import (
    begin_command,
    collect_seldom,
    end_command,
    out_of_the_folder,
)

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
    if version:
        write(f"ukctrl {_version()}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("list")(list_catalogue)
app.command()(check)
app.command()(analyze)
app.command()(run)
app.command()(view)
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


INTERRUPTED = 130
"""What typer makes of a Ctrl-C that no command has caught."""
LONG_NAME = re.compile(r"'([^']{150})[^']+([^']{40})'")
"""A name, key or text between quotes that nobody reads to its end."""
LONGEST = 1500
"""A message has no more characters."""
DRAWING = "matplotlibrc"
"""Where Matplotlib looks for settings when it is first imported, in the working folder first."""
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""What typer raises for a command line that it does not understand."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; every failure is one line and an exit code, never a traceback.

    Args:
        arguments: What stands after ``ukctrl``; absent: the process's own arguments.
    """
    collect_seldom()
    if arguments is None:
        begin_command()
    with warnings.catch_warnings():
        if not sys.warnoptions:  # what NumPy mutters of a run that diverges, its status says better
            warnings.simplefilter("ignore")
        if os.path.lexists(DRAWING):
            with out_of_the_folder(DRAWING):
                import matplotlib  # noqa: F401
        code = _exit_code(arguments)
    if arguments is None:  # the process ends here; a late signal must not spoil its exit code
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        end_command()
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
        from ukctrl.core.files.plugins import blame

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
    notice(_cut(message))
    return code


def _cut(message: str) -> str:
    """Return a message that a person can read, however long the names in a stranger's file are."""
    short = LONG_NAME.sub(r"'\1...\2'", message)
    return short if len(short) <= LONGEST else f"{short[:LONGEST]}..."
