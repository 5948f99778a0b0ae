"""A user's own workspace, and the schemas that editors check its files with."""

from __future__ import annotations

import ast
import dataclasses as dc
import inspect
import itertools
import json
import re
import textwrap
import typing
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ukctrl.core.errors import InputError, unknown_name

ROBOT = """\
title   = "Planar arm with two links"
source  = "a starting point: replace the model by your own URDF, MJCF or SDF"
model   = "my-arm.urdf"                    # beside this file
gravity = [0.0, 0.0, -9.81]                # [m/s^2]

[[actuator]]
kind  = "joint"
joint = "shoulder"

[[actuator]]
kind  = "joint"
joint = "elbow"
"""

URDF = """\
<robot name="my-arm">
  <link name="world"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.25 0 0"/><mass value="2.0"/>
      <inertia ixx="0.002" iyy="0.042" izz="0.042" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0.2 0 0"/><mass value="1.0"/>
      <inertia ixx="0.001" iyy="0.014" izz="0.014" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute">
    <parent link="world"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3.1" upper="3.1" effort="60" velocity="6"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3.1" upper="3.1" effort="30" velocity="6"/>
  </joint>
  <joint name="tip" type="fixed">
    <parent link="lower"/><child link="tool"/><origin xyz="0.4 0 0"/>
  </joint>
</robot>
"""

CONTROLLER = """\
title      = "My servo controller"
kind       = "servo"
feedback   = { kind = "baumgarte", alpha = 20.0, beta = 100.0 }   # [1/s], [1/s^2]
allocation = { kind = "least_norm", metric = "effort" }
"""

SCENARIO = """\
title = "My arm draws a circle"
robot = "my-arm"                           # robots/my-arm/robot.toml

[start]
q     = { shoulder = "-60*deg", elbow = "90*deg" }
solve = true                               # move this guess onto the constraints

[[servo]]
kind  = "point_follows"
frame = "tool"
axes  = "xz"
path  = { kind = "expression", components = ["0.55 + 0.1*cos(pi*t)", "0.1*sin(pi*t)"] }   # [m]

[controller]
use = "my-controller"                      # controllers/my-controller.toml
feedback.alpha = 30.0                      # overrides the card [1/s]
feedback.beta  = 225.0                     # [1/s^2]

[timing]
duration = 4.0                             # [s]
sample   = 0.01                            # output interval [s]
control  = 0.001                           # zero-order-hold period [s]

[integrator]
method = "RK4"
step   = 0.001                             # [s]
"""

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"

FILES = {
    "robots/my-arm/robot.toml": ROBOT,
    "robots/my-arm/my-arm.urdf": URDF,
    "controllers/my-controller.toml": CONTROLLER,
    "scenarios/my-scenario.toml": SCENARIO,
}


def create(directory: Path) -> list[Path]:
    """Make a workspace and return its files.

    Raises:
        InputError: The folder holds something already.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"'{directory}' must be a new or empty folder; it is not.")
    created = []
    try:
        for name, text in FILES.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            created.append(path)
    except OSError as error:
        raise InputError(f"'{directory}' cannot be made: {error.strerror}.") from None
    return created


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a file format: ``scenario``, ``controller`` or ``robot``.

    Raises:
        UnknownName: There is no such format.
    """
    from pydantic import TypeAdapter

    from ukctrl.control import AnyController
    from ukctrl.mechanics.constraints import AnyConstraint
    from ukctrl.robot import RobotFile
    from ukctrl.simulation.scenario import Scenario

    formats: dict[str, Any] = {
        "scenario": Scenario,
        "controller": AnyController,
        "robot": RobotFile,
    }
    if kind not in formats:
        raise unknown_name("file format", kind, formats)
    wanted = {kind: formats[kind], "passive": AnyConstraint}
    with warnings.catch_warnings():  # pydantic, on defaults that a field turns into another type
        warnings.simplefilter("ignore")
        found, shared = TypeAdapter.json_schemas(
            [(name, "validation", TypeAdapter(form)) for name, form in wanted.items()]
        )
    definitions: Schema = shared["$defs"]
    _describe(definitions, wanted.values())
    schema: Schema = dict(found[kind, "validation"])
    if "$ref" in schema:
        schema = dict(definitions[schema["$ref"].rpartition("/")[2]])
    if "Mode" in definitions:
        modes = definitions["Mode"]["properties"]
        modes["law"] = _or_card(modes["law"])
    if kind == "scenario":
        schema["properties"]["controller"] = _or_card(schema["properties"]["controller"])
    elif kind == "controller":
        schema = _or_card(schema)
    else:
        schema["properties"]["passive"]["items"] = found["passive", "validation"]
    head = {"$schema": DIALECT, "title": f"ukctrl {kind}"}
    whole: Schema = _as_in_files({**schema, **head, "$defs": definitions})
    _require_kinds(whole)
    return _only_used(whole)


def _or_card(controller: Schema) -> Schema:
    """Return the schema of a controller, or of a table that names a card or the user's own law."""
    card = {"type": "string", "description": "Name or path of a card; other keys override its."}
    law = {
        "type": "string",
        "pattern": r"\.py:",
        "description": "The user's own class, file.py:Name; runs with --trust only.",
    }
    described = {key: controller[key] for key in ("description",) if key in controller}
    return {
        **described,
        "anyOf": [
            controller,
            {"type": "object", "required": ["use"], "properties": {"use": card}},
            {"type": "object", "required": ["kind"], "properties": {"kind": law}},
        ],
    }


def _as_in_files(node: Any) -> Any:
    """Return a schema without what no file can hold: null, and objects made in Python."""
    if isinstance(node, list):
        return [_as_in_files(item) for item in node]
    if not isinstance(node, dict):
        return node
    tables = {key: _as_in_files(value) for key, value in node.items() if value is not None}
    if "anyOf" in tables:
        options = [o for o in tables["anyOf"] if "not" not in o and o != {"type": "null"}]
        tables["anyOf"] = options
        if len(options) == 1:
            tables = {**options[0], **{k: v for k, v in tables.items() if k != "anyOf"}}
    return tables


def _require_kinds(schema: Schema) -> None:
    """Require the ``kind`` that tells tables apart; for pydantic its default makes it optional."""
    for mapping in re.findall(r'"mapping": \{([^}]*)\}', json.dumps(schema)):
        for name in re.findall(r'"#/\$defs/([^"]+)"', mapping):
            definition = schema["$defs"][name]
            definition["required"] = sorted({*definition.get("required", []), "kind"})


def _only_used(schema: Schema) -> Schema:
    """Return a schema without the definitions that nothing in it leads to."""
    definitions = schema["$defs"]
    used: set[str] = set()
    waiting = [json.dumps({key: value for key, value in schema.items() if key != "$defs"})]
    while waiting:
        for name in re.findall(r'"#/\$defs/([^"]+)"', waiting.pop()):
            if name not in used:
                used.add(name)
                waiting.append(json.dumps(definitions[name]))
    return {**schema, "$defs": {name: definitions[name] for name in sorted(used)}}


def _describe(definitions: Schema, roots: Iterable[Any]) -> None:
    """Give every key the docstring of its field, which editors show beside it."""
    for cls in _classes(roots):
        long = f"{cls.__module__}.{cls.__qualname__}".replace(".", "__")
        definition = definitions.get(cls.__name__) or definitions.get(long)
        if definition is None:
            continue
        for name, text in _field_docs(cls).items():
            if name in definition["properties"]:
                definition["properties"][name]["description"] = text


def _classes(roots: Iterable[Any]) -> Iterator[type]:
    """Yield the dataclasses that some types are made of, each once."""
    waiting, seen = list(roots), dict[int, Any]()
    while waiting:
        kind = waiting.pop()
        if id(kind) in seen:
            continue
        seen[id(kind)] = kind  # kept, or another type could get its number
        waiting += typing.get_args(kind)
        if isinstance(kind, type) and dc.is_dataclass(kind):
            waiting += typing.get_type_hints(kind, include_extras=True).values()
            yield kind


def _field_docs(cls: type) -> dict[str, str]:
    """Return the text that stands below each field in the source of a class and its bases."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("ukctrl."):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, below in itertools.pairwise(statements):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = below.value if isinstance(below, ast.Expr) else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    docs[field.target.id] = " ".join(text.value.split())
    return docs
