"""The command line: its commands in the order of the help, each failure one line and a code."""

from __future__ import annotations

import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, NoReturn, cast

import typer

from ukctrl.cli.analyze import analyze
from ukctrl.cli.check import check
from ukctrl.cli.compare import compare
from ukctrl.cli.completion.complete import complete, is_completion_request
from ukctrl.cli.export import export
from ukctrl.cli.identify import identify
from ukctrl.cli.init_schema import init, schema
from ukctrl.cli.learn import learn
from ukctrl.cli.list import list_catalogue
from ukctrl.cli.report import report
from ukctrl.cli.reproduce import reproduce
from ukctrl.cli.run import run
from ukctrl.cli.study_file import STUDY_COMMANDS, with_study_file
from ukctrl.cli.sweep import sweep
from ukctrl.cli.terminal.lines import is_plain, print_lines, print_notice, sanitise, write
from ukctrl.cli.tune import tune
from ukctrl.cli.view import view
from ukctrl.core.cache_folder import set_matplotlib_cache
from ukctrl.core.errors import InputError, PartWarning, UkctrlError
from ukctrl.core.subprocess_safety import (
    begin_command,
    end_command,
    outside_working_folder,
    raise_gc_threshold,
)
from ukctrl.core.version import installed_version

app = typer.Typer(
    name="ukctrl",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _root_options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    install_completion: Annotated[
        bool,
        typer.Option("--install-completion", help="Let your shell complete commands with Tab."),
    ] = False,
    show_completion: Annotated[
        bool, typer.Option("--show-completion", help="Print the script that does so instead.")
    ] = False,
    shell: Annotated[
        str | None,
        typer.Option(
            "--shell",
            metavar="[bash|zsh|fish]",
            help="For which shell; absent: the one that this is typed in.",
        ),
    ] = None,
) -> None:
    """Servo-constraint control of robots: define, compare and design controllers."""
    if version:
        write(f"ukctrl {installed_version()}\n")
        raise typer.Exit
    if install_completion or show_completion:
        _completion(shell, install=install_completion)
        raise typer.Exit
    if shell is not None:
        raise InputError("--shell goes with --install-completion or --show-completion.")
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Define": {
        "init": init,
        "list": list_catalogue,
        "schema": schema,
        "identify": identify,
        "check": check,
        "run": run,
        "view": view,
    },
    "Compare": {"compare": compare, "reproduce": reproduce, "report": report},
    "Design": {"analyze": analyze, "tune": tune, "learn": learn, "sweep": sweep, "export": export},
}
"""The commands, by the job that they are for, in the order of the help."""
app.callback()(_root_options)
for _job, _commands in COMMANDS.items():
    for _name, _command in _commands.items():
        _shown = _command
        if _name in STUDY_COMMANDS:
            _shown = with_study_file(_shown, STUDY_COMMANDS[_name])
        app.command(_name, rich_help_panel=_job)(_shown)


def _completion(name: str | None, *, install: bool) -> None:
    from ukctrl.cli.completion import shells

    name = shells.detect_shell(name)
    if not install:
        write(shells.shells()[name].script)
        return
    changed = shells.install(name)
    print_lines([[f"  {sanitise(str(path))}"] for path in changed])
    print_lines([[f"{name} completes ukctrl from the next terminal on."]])


INTERRUPTED = 130
"""What typer makes of a Ctrl-C that no command has caught."""
LONG_QUOTE = re.compile(r"'([^']{150})[^']+([^']{40})'")
"""A name, key or text between quotes that nobody reads to its end."""
MAX_MESSAGE = 1500
"""A message has no more characters."""
MATPLOTLIB_FILE = "matplotlibrc"
"""Where Matplotlib looks for settings when it is first imported, in the working folder first."""
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""What typer raises for a command line that it does not understand."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; every failure is one line and an exit code, never a traceback.

    Args:
        arguments: What stands after ``ukctrl``; absent: the process's own arguments.
    """
    raise_gc_threshold()
    if arguments is None and is_completion_request():
        write(complete(app))
        sys.exit(0)
    if arguments is None:
        begin_command()
        set_matplotlib_cache()
    with warnings.catch_warnings():
        if not sys.warnoptions:  # what NumPy mutters of a run that diverges, its status says better
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", PartWarning)
            warnings.showwarning = lambda text, *place: print_notice(str(text))
        if os.path.lexists(MATPLOTLIB_FILE):
            with outside_working_folder(MATPLOTLIB_FILE):
                import matplotlib  # noqa: F401
        if is_plain():
            _print_help_plainly(sys.argv[1:] if arguments is None else arguments)
        code = _exit_code(arguments)
    if arguments is None:  # the process ends here; a late signal must not spoil its exit code
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        end_command()
    sys.exit(code)


def _print_help_plainly(arguments: Sequence[str]) -> None:
    """Let typer's help have no escape codes; it would still print bold without colours."""
    if not arguments or {"-h", "--help"} & set(arguments):
        from typer import rich_utils

        rich_utils.COLOR_SYSTEM = None


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
        from ukctrl.core.files.plugins import plugin_fault

        culprit = plugin_fault(error)
        if culprit:
            return _fail(culprit, 2)
        if isinstance(error, MemoryError):
            return _fail(
                f"the machine failed: there is no memory left for this. {error}".rstrip(), 2
            )
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
    print_notice(_shorten(message))
    return code


def _shorten(message: str) -> str:
    """Return a message that a person can read, however long the names in a stranger's file are."""
    short = LONG_QUOTE.sub(r"'\1...\2'", message)
    return short if len(short) <= MAX_MESSAGE else f"{short[:MAX_MESSAGE]}..."
