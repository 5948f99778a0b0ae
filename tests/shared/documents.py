"""The documents as tests read them: fenced blocks, sentences, and what commands show."""

from __future__ import annotations

import dataclasses as dc
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(
    r"^(?P<indent>[ ]*)(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks)[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dc.dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    title: str
    body: str

    def where(self) -> str:
        known = self.page.is_relative_to(ROOT)
        return f"{self.page.relative_to(ROOT) if known else self.page}:{self.line}"


@dc.dataclass(frozen=True)
class Command:
    """One command line of a block: its words, the exit code it states, the lines shown below it."""

    words: list[str]
    code: int
    shown: list[str]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        info = match["info"].strip()
        title = re.search(r'title="([^"]+)"', info)
        body = re.sub(f"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 1
        language = info.split()[0] if info else ""
        yield Block(page, line, language, title[1] if title else "", body)


def sentences(page: Path) -> str:
    """Return a page's text without its blocks, line by line where it was."""
    text = page.read_text(encoding="utf-8")
    return FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)


def commands(block: Block) -> Iterator[Command]:
    """Yield what a `console` block has after each ``$``."""
    text = block.body.replace("\\\n", " ")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        stated = re.search(r"#.*\bexit (\d)", line)
        yield Command(
            words=shlex.split(line, comments=True),
            code=int(stated[1]) if stated else 0,
            shown=[each for each in map(one_space, shown.splitlines()) if each],
        )


def not_printed(shown: list[str], printed: str) -> str | None:
    """Return the first shown line that is not printed in this order; ``...`` is any text."""
    rest = iter([one_space(line) for line in printed.splitlines()])
    for line in shown:
        pattern = ".*".join(re.escape(piece) for piece in line.split("..."))
        if not any(re.fullmatch(pattern, candidate) for candidate in rest):
            return line
    return None


def one_space(line: str) -> str:
    """Return a line with one space between its words."""
    return " ".join(line.split())
