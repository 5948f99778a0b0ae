"""No code asks for the class of a part: a user's own part would then get other answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]

ROLES = {
    "Allocation", "Allocator", "BoundConstraint", "BoundFeedback", "ClockEffect", "Constraint",
    "Controller", "Drive", "Effect", "Feedback", "InputEffect", "Inversion", "Law",
    "NullSpaceInput",
    "OddFunction", "OrientationReference", "PlantEffect", "Reference", "Sensor", "SensorEffect",
    "KernelDrive", "KernelSensor", "ModelFeedback", "Structure",
}  # fmt: skip
"""What a user derives a part from. Asking for a role is asking which questions a part answers."""

EXCEPTIONS = {
    ("core/jit/array_elements.py", "Constant"): "which is a class of llvmlite, and no part",
    ("mechanics/derivatives/formula_jets.py", "Expression"): "whose text is differentiated",
    ("mechanics/derivatives/formula_jets.py", "JointFollows"): "whose path is differentiated",
    ("mechanics/derivatives/formula_jets.py", "FormulaStructure"): "whose text is differentiated",
    (
        "ukctrl_laws/fuzzy/fuzzy_gain_design.py",
        "ChenRobust",
    ): "whose theory the choice of its gain is",
    ("ukctrl_laws/fuzzy/fuzzy_gain_design.py", "Servo"): "which has that feedback",
}
"""Where the text of a formula is the point, not what a part does."""


class Class(NamedTuple):
    """A class of ukctrl."""

    folder: Path
    bases: tuple[str, ...]


def classes(nodes: dict[Path, list[ast.AST]]) -> dict[str, Class]:
    """Return every class by its name."""
    found = {}
    for path, every in nodes.items():
        for node in every:
            if isinstance(node, ast.ClassDef):
                bases = tuple(ast.unparse(base).rpartition(".")[2] for base in node.bases)
                found[node.name] = Class(path.parent, bases)
    return found


def parts(nodes: dict[Path, list[ast.AST]]) -> dict[str, Path]:
    """Return what is derived from a role, with the folder where it lives."""
    known = classes(nodes)

    def derived(name: str) -> bool:
        return name in known and any(b in ROLES or derived(b) for b in known[name].bases)

    return {name: known[name].folder for name in known if name not in ROLES and derived(name)}


def names_in(node: ast.AST, tuples: dict[str, set[str]]) -> set[str]:
    """Return the names that an expression mentions, those within a named tuple too."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    qualified = [n for n in ast.walk(node) if isinstance(n, ast.Attribute)]
    found |= {n.attr for n in qualified if ast.unparse(n.value) != "ast"}
    return found.union(*(tuples[name] for name in found & tuples.keys()))


def asked_classes(nodes: list[ast.AST]) -> Iterator[tuple[int, set[str]]]:
    """Yield the classes that a module asks for, with the line."""
    tuples = {
        target.id: names_in(node.value, {})
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple | ast.BinOp)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]):
                yield node.lineno, names_in(asked, tuples)
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=others):
                for other in others:
                    yield node.lineno, names_in(other, tuples)
            case ast.MatchClass(cls=asked):
                yield asked.lineno, names_in(asked, tuples)


@pytest.mark.slow
def test_nothing_asks_for_the_class_of_a_part_outside_its_own_folder():
    files = sorted(ROOT.glob("ukctrl*/**/*.py"))
    nodes = {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in files}
    known, wrong, used = parts(nodes), [], set()
    for path in files:
        where = path.relative_to(ROOT).as_posix().removeprefix("ukctrl/")
        for line, asked in asked_classes(nodes[path]):
            for name in sorted(asked & known.keys()):
                if path.is_relative_to(known[name]):
                    continue
                used.add((where, name))
                if (where, name) not in EXCEPTIONS:
                    wrong.append(f"{where}:{line} asks whether a part is a '{name}'")
    assert not wrong, "ask the part a question that its base class documents: " + "; ".join(wrong)
    assert used == EXCEPTIONS.keys(), "an exception that nothing needs any more: remove it"
