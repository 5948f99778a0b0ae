"""Fill in, while the site is built, every part that a file may name: a hook of mkdocs."""

from __future__ import annotations

from typing import Any

from ukctrl import part_kinds

MARK = "<!-- parts -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with the lists of all parts in the place of the mark, if it has it."""
    return markdown.replace(MARK, lists()) if MARK in markdown else markdown


def lists() -> str:
    """Return a list for every sort of part, with the parts that are there now."""
    lines = []
    for sort, parts in part_kinds().items():
        lines += [f"## {sort.replace('_', '-')}", ""]
        lines += [*(f"- `{name}`: {text}" for name, text in parts.items()), ""]
    return "\n".join(lines)
