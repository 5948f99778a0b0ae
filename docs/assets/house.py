"""Draw the house: the packages of ukctrl on their floors, as `house.svg`.

    python docs/assets/house.py

The floors stand in `pyproject.toml`; what a package answers is the first line of its docstring, and
what it stands on are the imports in its files. The picture follows the reader's colour scheme.
"""

from __future__ import annotations

import ast
import itertools
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ukctrl"
PICTURE = Path(__file__).with_name("house.svg")
WIDTH, LEFT, INSIDE = 400, 34, 10
LINE, FOLD, IMPORTS_FOLD = 17, 50, 55
"""Height of a line of text, and how many letters a line takes."""
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .name { font: bold 15px ui-monospace, monospace }
  .small { font-size: 11.5px; fill: #57606a }
  .floor { fill: #e8eaf6 } .roof { fill: #3f51b5 } .room { fill: #fff; stroke: #9fa8da }
  .arrow { stroke: #3f51b5; fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #adb5c4 }
    .floor { fill: #2b3050 } .roof, .arrow { stroke: #8c9eff } .roof { fill: #5c6bc0 }
    .room { fill: #1a1d2e; stroke: #5c6bc0 }
  }
"""


def floors() -> dict[str, int]:
    """Return the floor of every package, and of `uk`, the ground floor being 1."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, int] = table["tool"]["ukctrl"]["floors"]
    return found


def files(name: str) -> list[Path]:
    """Return the files of a package, or the one of a module."""
    folder = PACKAGE / name
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def answers(name: str) -> str:
    """Return the first line of a package's docstring."""
    text = ast.get_docstring(ast.parse(files(name)[0].read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].replace("`", "")


def stands_on(name: str) -> list[str]:
    """Return the packages that one imports from, those of the highest floors first."""
    found = set()
    for path in files(name):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if module == "ukctrl":
                found |= {alias.name for alias in node.names}
            elif module.startswith("ukctrl."):
                found.add(module.split(".")[1])
    order = [each for each in reversed(floors()) if each != name]
    return [each for each in order if each in found]


def told(name: str) -> list[tuple[str, str]]:
    """Return the lines of a package's room, each with its class."""
    below = stands_on(name)
    under = [each for each, floor in floors().items() if floor < floors()[name]]
    words = "all below" if len(below) == len(under) > 1 else ", ".join(below) or "nothing of ukctrl"
    return [
        (name, "name"),
        *((line, "") for line in textwrap.wrap(answers(name), FOLD)),
        *((line, "small") for line in textwrap.wrap(f"imports {words}", IMPORTS_FOLD)),
    ]


def drawn() -> str:
    """Return the picture."""
    parts, y = [], 46
    right = WIDTH - LEFT
    parts.append(f'<path class="roof" d="M{LEFT - 14} {y} L{WIDTH / 2:g} 6 L{WIDTH - 4} {y} Z"/>')
    top = y
    order = sorted(floors().items(), key=lambda item: -item[1])
    for floor, group in itertools.groupby(order, key=lambda item: item[1]):
        rooms = [told(name) for name, _ in group]
        heights = [LINE * len(lines) + 12 for lines in rooms]
        height = sum(heights) + 6 * (len(rooms) + 1)
        parts.append(
            f'<rect class="floor" x="{LEFT - 6}" y="{y}" width="{right}" height="{height - 2}"/>'
        )
        parts.append(f'<text class="small" x="2" y="{y + 24}">{floor}</text>')
        at = y + 6
        for lines, tall in zip(rooms, heights, strict=True):
            parts.append(
                f'<rect class="room" x="{LEFT}" y="{at}" width="{right - 12}" height="{tall - 2}" '
                'rx="4"/>'
            )
            for k, (text, kind) in enumerate(lines):
                marked = f' class="{kind}"' if kind else ""
                baseline = at + LINE * (k + 1) + 2
                parts.append(
                    f'<text{marked} x="{LEFT + INSIDE}" y="{baseline}">{escape(text)}</text>'
                )
            at += tall + 6
        y += height
    parts.append(
        f'<path class="arrow" d="M16 {top + 6} V{y - 8} m-5 -8 l5 8 l5 -8"/>'
        f'<text class="small" x="2" y="{y + 16}">Imports go down, never up or along a floor.</text>'
    )
    packages, top_floor = len(floors()) - 1, max(floors().values())  # `uk` is a file
    label = f"ukctrl: {packages} packages on {top_floor} floors; the page lists them"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 24}" '
        f'viewBox="0 0 {WIDTH} {y + 24}" role="img" aria-label="{label}">\n'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
