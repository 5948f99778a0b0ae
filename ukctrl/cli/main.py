"""Run the command line: every failure is one line and an exit code, never a traceback."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn, cast

import typer

from ukctrl.cli.commands import app
from ukctrl.core.errors import UkctrlError

INTERRUPTED = 130
"""What typer makes of a Ctrl-C that no command has caught."""
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""What typer raises for a command line that it does not understand."""


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
    from ukctrl.cli.terminal import clean

    if sys.stderr is not None:
        print(f"ukctrl: {clean(message)}", file=sys.stderr)
    return code
