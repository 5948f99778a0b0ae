"""What is typed, and what the terminal shows: commands, a thin face of the library."""

from ukctrl.cli.main import main

__all__ = ["main"]
