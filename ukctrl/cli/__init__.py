"""The command line: a thin face of the library, with imports kept to what a command needs."""

from ukctrl.cli.main import main

__all__ = ["main"]
