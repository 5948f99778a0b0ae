"""``ukctrl check`` on a file with one's own parts."""

from __future__ import annotations

from pathlib import Path

import typer

from ukctrl.core.errors import InputError


def is_part(name: str) -> bool:
    """Return whether an argument of ``check`` names Python code or a controller card."""
    if name.endswith(".py"):
        return True
    path = Path(name)
    if not name.endswith(".toml") or not path.is_file():
        return False
    from ukctrl.core.files.toml import read_toml

    table = read_toml(path)
    return "robot" not in table and bool({"kind", "use"} & set(table))


def check_part(
    name: str, changes: list[str] | None, on: str | None, trust: bool, as_json: bool
) -> None:
    """Try the parts that a file defines on the clauses of their kind, and print what came."""
    from ukctrl.cli import terminal
    from ukctrl.cli.arguments import pairs_of
    from ukctrl.simulation.scenario import Scenario

    path = Path(name).resolve()
    if not path.is_file():
        raise InputError(f"no file '{name}'.")
    settings = pairs_of(changes)
    from ukctrl.analysis.conformance.examine import examine_file

    conformance = examine_file(path, settings, Scenario.load(on or "scara-helix"), trust=trust)
    terminal.show_conformance(conformance, as_json)
    raise typer.Exit(0 if all(each.ok for each in conformance) else 1)
