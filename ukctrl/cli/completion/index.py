"""What files may hold: keys, kinds and choices, taken from the schemas and kept in a file.

To make the schemas takes seconds and every part of ukctrl; a Tab has a fraction of one. So they are
kept in short, in ``index.json``, with one line for each table; ``python -m
ukctrl.cli.completion.index`` writes it anew, and a test compares it with the schemas.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("index.json")
Key = None | list[str] | dict[str, str]
"""What stands at a key: anything, one of some texts, or a table, by its kind and name here."""
ROOT = "Scenario"
PLANTS = {
    "model": "rigid",
    "part": "rigid",
    "lagrangian": "lagrangian",
    "functions": "functions",
    "linkage": "linkage",
    "particles": "particles",
}
"""What a robot is, by the key of its file that says what it is made of."""
ACTUATIONS = {
    "under": "underactuated",
    "fully": "fully actuated",
    "redundantly": "redundantly actuated",
    "none": "unactuated",
}
"""What only the robot itself can tell, so that it is loaded where somebody asks."""
ROBOT_KINDS = (
    *dict.fromkeys(PLANTS.values()),
    *("elastic", "floating", "closed loops", "constrained", "contact", "rolling"),
    *ACTUATIONS.values(),
)


@functools.cache
def index() -> dict[str, Any]:
    """Return the kept index.

    Its ``tables`` are the keys of each table by its name, `ROOT` that of a scenario;
    ``controllers`` has the family of each kind of controller, ``metrics`` the metrics of a run.
    """
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept


def made() -> dict[str, Any]:
    """Return the index of the present schemas."""
    from typing import get_args

    from ukctrl.cli.workspace import json_schema
    from ukctrl.control import AnyController
    from ukctrl.simulation.result.metrics import METRICS

    schema = json_schema("scenario")
    tables = {ROOT: schema, **schema["$defs"]}
    laws = get_args(get_args(AnyController)[0])
    return {
        "tables": {
            _short(name): {key: _key(node) for key, node in sorted(table["properties"].items())}
            for name, table in tables.items()
        },
        "controllers": {law.kind: law.__module__.split(".")[2] for law in laws},
        "metrics": list(METRICS),
    }


def _key(node: dict[str, Any]) -> Key:
    """Return what may stand at a key, whichever of its alternatives is meant."""
    tables: dict[str, str] = {}
    texts: list[str] = []
    for each in _alternatives(node):
        texts += [text for text in each.get("enum", []) if isinstance(text, str)]
        texts += ["true", "false"] if each.get("type") == "boolean" else []
        mapping = each.get("discriminator", {}).get("mapping", {})
        tables |= {kind: _short(reference) for kind, reference in mapping.items()}
        if "$ref" in each:
            tables.setdefault("", _short(each["$ref"]))
    if len(tables) > 1:
        tables.pop("", None)
    return tables or texts or None


def _alternatives(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    inner = [*node.get("anyOf", []), *filter(None, [node.get("items")])]
    if "discriminator" not in node:
        inner += node.get("oneOf", [])
    for each in inner:
        if isinstance(each, dict):
            yield from _alternatives(each)


def _short(name: str) -> str:
    return name.rpartition("/")[2].replace("ukctrl__", "").replace("__", ".")


def text(found: dict[str, Any]) -> str:
    """Return an index as the file holds it, with a line for each entry."""
    parts = []
    for name, part in found.items():
        lines = (
            [f"    {json.dumps(key)}: {json.dumps(part[key])}" for key in part]
            if isinstance(part, dict)
            else [f"    {json.dumps(each)}" for each in part]
        )
        ends = "{}" if isinstance(part, dict) else "[]"
        parts.append(f"  {json.dumps(name)}: {ends[0]}\n" + ",\n".join(lines) + f"\n  {ends[1]}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(made()), encoding="utf-8")
