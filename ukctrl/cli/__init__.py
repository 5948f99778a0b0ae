"""What is typed, and what does the terminal show?"""

from ukctrl.cli.main import main

__all__ = ["main"]
