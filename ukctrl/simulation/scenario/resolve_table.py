"""Controller cards, user code and names: from what a scenario's file says to one whole table.

``controller.use`` is replaced by the card it names, changes are made by their path, code that is
trusted becomes the part it defines, and relative names become absolute. Each step works on plain
tables, so that ``--set``, `Scenario.replace` and a study's columns share one path language.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.any_controller import AnyController
from ukctrl.control.controller import Controller
from ukctrl.control.disturbance.disturbance_observer import DisturbanceObserver
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.control.function_controller import as_controller
from ukctrl.control.safety import Inequality
from ukctrl.core.errors import InputError
from ukctrl.core.files import catalog
from ukctrl.core.files.table_paths import Table, merged, set_path
from ukctrl.core.files.toml import error_context, read_spec, read_toml
from ukctrl.core.message_text import literal_text
from ukctrl.mechanics.constraints import Constraint
from ukctrl.robot import Robot
from ukctrl.robot.schema.robot_file import runs_code
from ukctrl.simulation.effects import Effect
from ukctrl.simulation.observers import Observer

T = TypeVar("T")

MAX_USES = 8
"""Longest chain of cards that use cards."""


def resolve_table(
    table: Table, changes: Mapping[str, object], path: Path, label: str, trust: bool
) -> Table:
    """Return the table of a scenario with everything in place that other files say.

    Args:
        table: What a file says, or `table_of` a scenario.
        changes: Values by path.
        path: The file, or one that would stand beside what names are relative to.
        label: What messages call it.
        trust: Whether Python code that the files name may run.

    Raises:
        InputError: A card or robot does not exist, or is not acceptable.
    """
    table = copy.copy(table)
    if path.is_file() and not table.get("name"):
        table["name"] = path.stem
    # before the changes, whose paths reach into what the card says
    _resolve_controller(table, path, label)
    table, changes = _opened_belief(table), _opened_belief(changes)
    _open_robots(table, changes)
    _open_states(table, changes)
    for key, value in changes.items():
        # another card: what overrode the old one does not fit it
        if key == "controller.use" or (key == "controller" and isinstance(value, str | Path)):
            table["controller"] = {"use": str(value)}
        else:
            with error_context(label):
                table = set_path(table, key, value)
                # a kind empties its table: what was changed in it before is put back
                for earlier, earlier_value in _earlier_changes(changes, key):
                    table = set_path(table, earlier, earlier_value)
    # a change may have named another card
    _resolve_controller(table, path, label)
    controller = table.get("controller")
    if isinstance(controller, dict):
        table["controller"] = load_code(controller, path, label, trust)
    observer = table.get("observer")
    if isinstance(observer, dict):
        if "disturbance" in observer:
            key, inner = "observer.disturbance", observer["disturbance"]
            inner = _user_part(inner, path, label, trust, DisturbanceObserver, key)
            observer = {**observer, "disturbance": inner}
        table["observer"] = _user_part(observer, path, label, trust, Observer, "observer")
    for key, base in (("servo", Constraint), ("keep", Inequality), ("effect", Effect)):
        if isinstance(table.get(key), list):
            table[key] = [
                _user_part(entry, path, label, trust, base, f"{key}[{number}]")
                for number, entry in enumerate(table[key])
            ]
    for key in ("robot", "believed.robot", "controller.links"):
        with error_context(f"{label}: {key}"):
            _make_absolute(table, key.split("."), path)
    if trust:
        _load_trusted_robot(table, path, label)
    return table


def _earlier_changes(changes: Mapping[str, object], key: str) -> Iterator[tuple[str, object]]:
    """Yield the changes before one of a ``kind`` that reach into the table that it replaces."""
    table, _, last = key.rpartition(".")
    for earlier, value in changes.items():
        if earlier == key or last != "kind":
            return
        if earlier.startswith(f"{table}."):
            yield earlier, value


def _open_robots(table: Table, changes: Mapping[str, object]) -> None:
    """Turn the name of a robot into a table where a change reaches into it."""
    if any(key.startswith("believed.robot.") for key in changes):
        believed = table.get("believed") or {}
        table["believed"] = {"robot": table.get("robot"), **believed}
        _open_robot(table["believed"])
    if any(key.startswith("robot.") for key in changes):
        _open_robot(table)


def _opened_belief(table: Mapping[str, Any]) -> Table:
    """Return a table with the name of a believed robot as the table that it stands for."""
    believed = table.get("believed")
    return {**table, "believed": {"robot": believed}} if isinstance(believed, str) else {**table}


def _open_states(table: Table, changes: Mapping[str, object]) -> None:
    """Turn the empty list of a state that is left out into a table where a change names a joint."""
    start = table.get("start")
    for symbol in ("q", "v"):
        named = any(key.startswith(f"start.{symbol}.") for key in changes)
        if named and isinstance(start, Mapping) and not start.get(symbol):
            table["start"] = start = {**start, symbol: {}}


def _open_robot(holder: Table) -> None:
    if isinstance(holder.get("robot"), str):
        holder["robot"] = {"use": holder["robot"]}


def _load_trusted_robot(table: Table, path: Path, label: str) -> None:
    """Load a robot whose file names Python code; other robots stay names until they are needed."""
    robot = table.get("robot")
    override = {} if isinstance(robot, str) else copy.copy(robot)
    if not isinstance(override, dict):
        return
    name = override.pop("use", robot)
    with error_context(f"{label}: robot"):
        if isinstance(name, str) and runs_code(name, path):
            table["robot"] = Robot.load(name, beside=path, override=override, trust=True)


def _resolve_controller(table: Table, path: Path, label: str) -> None:
    controller = as_controller(table.get("controller"), f"{label}: controller")
    if isinstance(controller, dict):
        _refuse_card_as_kind(controller, path, label)
        table["controller"] = _resolve_modes(resolve_card(controller, path, label), path, label)
    elif controller is not None and not isinstance(controller, Controller):
        use = controller if isinstance(controller, str) else "servo-baumgarte"
        raise InputError(
            f"{label}: controller: must be a table, such as {{ use = '{use}' }}; "
            f"got {literal_text(controller)}."
        )
    elif controller is not None:
        table["controller"] = controller


def _refuse_card_as_kind(controller: Table, path: Path, label: str) -> None:
    """Refuse the name of a card where a kind of law belongs."""
    kind = controller.get("kind")
    kinds = {law.kind for law in get_args(get_args(AnyController)[0])}
    if not isinstance(kind, str) or kind in kinds:
        return
    if kind in catalog.names("controllers", path):
        raise InputError(f"{label}: controller.kind: '{kind}' is a card; write use = '{kind}'.")


def _resolve_modes(controller: Table, path: Path, label: str) -> Table:
    """Return a controller table in which the laws of its modes, if any, are completed too."""
    modes = controller.get("modes")
    if not isinstance(modes, list):
        return controller
    completed_modes = []
    for number, mode in enumerate(modes):
        law = mode.get("law") if isinstance(mode, dict) else None
        if isinstance(law, dict):
            mode = {**mode, "law": resolve_card(law, path, f"{label}: controller.modes[{number}]")}
        completed_modes.append(mode)
    return {**controller, "modes": completed_modes}


def resolve_card(table: Table, path: Path, label: str) -> Table:
    """Return a controller table with ``use`` replaced by what the card says.

    Keys beside ``use`` override the card's; a sub-table is merged unless it names another kind.

    Raises:
        InputError: A card does not exist, or cards use each other in a circle.
    """
    overrides: list[Table] = []
    ancestors: list[Path] = []
    while "use" in table:
        use = table["use"]
        if not isinstance(use, str):
            raise InputError(
                f"{label}: controller.use: must be the name of a card; got {literal_text(use)}."
            )
        overrides.append({key: value for key, value in table.items() if key != "use"})
        with error_context(f"{label}: controller.use"):
            card = catalog.find("controllers", use, path).resolve()
        chain = [*ancestors, card]
        if card in ancestors or len(ancestors) >= MAX_USES:
            shown = " -> ".join(path.stem for path in chain)
            fault = "in a circle" if card in ancestors else f"more than {MAX_USES} deep"
            raise InputError(f"{label}: controller.use: cards use each other {fault}: {shown}.")
        ancestors = chain
        table, path = _absolute_paths(read_toml(card), card.parent), card
        table.setdefault("name", card.stem)
    for override in reversed(overrides):
        table = merged(table, override)
    return table


def _absolute_paths(node: Any, folder: Path) -> Any:
    """Return a card's table with the files that it names, data and code, relative to no folder."""
    if isinstance(node, list):
        return [_absolute_paths(item, folder) for item in node]
    if not isinstance(node, dict):
        return node
    table = {key: _absolute_paths(value, folder) for key, value in node.items()}
    kind, data = table.get("kind"), table.get("file")
    if isinstance(kind, str) and ".py:" in kind:
        file, _, name = kind.rpartition(":")
        table["kind"] = f"{folder / file}:{name}"
    if isinstance(data, str):
        table["file"] = str(folder / data)
    return table


def load_code(table: Table, path: Path, label: str, trust: bool) -> Table | Controller:
    """Return the controller that a user's Python file defines, or the table.

    Its feedback, allocation and observer may be defined by a user's file as well.

    Raises:
        InputError: The code is not trusted, does not exist, or is no controller.
    """
    table = copy.copy(table)
    bases = ("feedback", Feedback), ("allocation", Allocation), ("disturbance", DisturbanceObserver)
    for key, base in bases:
        if key in table:
            table[key] = _user_part(table[key], path, label, trust, base, f"controller.{key}")
    return _user_part(table, path, label, trust, Controller, "controller")


def _user_part(
    table: Any, path: Path, label: str, trust: bool, base: type[T], key: str
) -> Table | T:
    """Return what a user's Python file defines for one key, or what stands there unchanged."""
    kind = table.get("kind") if isinstance(table, dict) else None
    if not (isinstance(kind, str) and ".py:" in kind):
        plain: Table = table
        return plain
    file, _, name = kind.rpartition(":")
    if not trust:
        raise InputError(
            f"{label}: {key}.kind: '{kind}' is Python code, which a file may not run by "
            "itself; read it, then say --trust (trust=True) to run it."
        )
    from ukctrl.core.files.plugins import load_class

    with error_context(f"{label}: {key}.kind"):
        kind_class = load_class((path.parent / file).resolve(), name, base)
    settings = {name: value for name, value in table.items() if name != "kind"}
    return read_spec(kind_class, settings, path, label=label, key=key)


def _make_absolute(table: Table, keys: Sequence[str], path: Path) -> None:
    """Replace a robot that lies beside the file by its path; a catalogue or zoo name stays."""
    head, *tail = keys
    value = table.get(head)
    if isinstance(value, dict):
        table[head] = dict(value)
        _make_absolute(table[head], tail or ["use"], path)
    elif isinstance(value, str) and not tail:
        robot, collection = catalog.find("robots", value, path).resolve(), catalog.root() / "robots"
        # names of the catalogue hold on every machine, paths on this one alone
        if not catalog.is_collection_name(value) and not robot.is_relative_to(collection.resolve()):
            table[head] = str(robot)
