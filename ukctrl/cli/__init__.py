"""The command line: a thin face of the library, with imports kept to what a command needs."""

from ukctrl.cli.entry import main

__all__ = ["main"]
