"""The page of the commands lists what the command line has, in its order."""

from __future__ import annotations

import re
from pathlib import Path

from ukctrl.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_the_page_has_every_command_in_the_order_of_the_help():
    page = PAGE.read_text(encoding="utf-8")
    commands = [found.name or found.callback.__name__ for found in app.registered_commands]
    assert re.findall(r"^\| \[`(\w+)`\]\(#\1\) \|", page, re.MULTILINE) == commands
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == [
        "Exit codes", "Completion", "Colours", "Figures for papers", "Study files", *commands
    ]  # fmt: skip
