"""Lines that a command prints, as people read them: words, and the looks of their parts."""

from __future__ import annotations

from ukctrl.cli.terminal.lines import StyledText


def plain(lines):
    """Return the words of each line."""
    return [
        "".join(part if isinstance(part, str) else part.text for part in line).rstrip()
        for line in lines
    ]


def styles(lines):
    """Return the style of each part that has one."""
    parts = [part for line in lines for part in line if isinstance(part, StyledText) and part.style]
    return {part.text.strip(): part.style for part in parts}
