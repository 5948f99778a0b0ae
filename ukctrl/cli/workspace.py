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
from ukctrl.core.files import catalog
from ukctrl.core.files.output_folders import output_root
from ukctrl.simulation.result.atomic_files import write_atomically

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"

WORKSPACE_FILES = (
    "robots/my-arm/robot.toml",
    "robots/my-arm/my-arm.urdf",
    "controllers/my-controller.toml",
    "scenarios/my-scenario.toml",
)
"""What a new workspace holds, copied from the folder ``workspace`` beside the catalogue."""


def create_workspace(directory: Path) -> list[Path]:
    """Make a workspace and return its files.

    Raises:
        InputError: The folder holds something already.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"'{directory}' must be a new or empty folder; it is not.")
    try:
        with output_root(directory):
            for name in WORKSPACE_FILES:
                template = catalog.root() / "workspace" / name
                write_atomically(directory / name, template.read_bytes())
    except OSError as error:
        raise InputError(f"'{directory}' cannot be made: {error.strerror}.") from None
    return [directory / name for name in WORKSPACE_FILES]


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a file format: ``scenario``, ``controller`` or ``robot``.

    Raises:
        UnknownName: There is no such format.
    """
    from pydantic import TypeAdapter

    from ukctrl.control.any_controller import AnyController
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
    forms = {kind: formats[kind], "passive": AnyConstraint}
    with warnings.catch_warnings():  # pydantic, on defaults that a field turns into another type
        warnings.simplefilter("ignore")
        schemas, shared = TypeAdapter.json_schemas(
            [(name, "validation", TypeAdapter(form)) for name, form in forms.items()]
        )
    definitions: Schema = shared["$defs"]
    _add_descriptions(definitions, forms.values())
    schema: Schema = dict(schemas[kind, "validation"])
    if "$ref" in schema:
        schema = dict(definitions[schema["$ref"].rpartition("/")[2]])
    if "SwitchingMode" in definitions:
        modes = definitions["SwitchingMode"]["properties"]
        modes["law"] = _or_card(modes["law"])
    if kind == "scenario":
        schema["properties"]["controller"] = _or_card(schema["properties"]["controller"])
    elif kind == "controller":
        schema = _or_card(schema)
    else:
        schema["properties"]["passive"]["items"] = schemas["passive", "validation"]
    head = {"$schema": DIALECT, "title": f"ukctrl {kind}"}
    whole: Schema = _without_null({**schema, **head, "$defs": definitions})
    _require_kinds(whole)
    return _prune_definitions(whole)


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


def _without_null(node: Any) -> Any:
    """Return a schema without what no file can hold: null, and objects made in Python."""
    if isinstance(node, list):
        return [_without_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    tables = {key: _without_null(value) for key, value in node.items() if value is not None}
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


def _prune_definitions(schema: Schema) -> Schema:
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


def _add_descriptions(definitions: Schema, roots: Iterable[Any]) -> None:
    """Give every key the docstring of its field, which editors show beside it."""
    for cls in _classes(roots):
        long = f"{cls.__module__}.{cls.__qualname__}".replace(".", "__")
        definition = definitions.get(cls.__name__) or definitions.get(long)
        if definition is None:
            continue
        for name, text in _field_docs(cls).items():
            # a key that is a word of Python's stands in the file under its alias
            field = getattr(cls, "__pydantic_fields__", {}).get(name)
            key = name if field is None else field.alias or name
            if key in definition["properties"]:
                definition["properties"][key]["description"] = text


def _classes(roots: Iterable[Any]) -> Iterator[type]:
    """Yield the dataclasses that some types are made of, each once."""
    waiting, by_id = list(roots), dict[int, Any]()
    while waiting:
        kind = waiting.pop()
        if id(kind) in by_id:
            continue
        by_id[id(kind)] = kind  # kept, or another type could get its number
        waiting += typing.get_args(kind)
        if isinstance(kind, type) and dc.is_dataclass(kind):
            waiting += typing.get_type_hints(kind, include_extras=True).values()
            yield kind


def _field_docs(cls: type) -> dict[str, str]:
    """Return the text that stands below each field in the source of a class and its bases."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if "__dataclass_fields__" not in vars(base):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, below in itertools.pairwise(statements):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = below.value if isinstance(below, ast.Expr) else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    docs[field.target.id] = " ".join(text.value.split())
    return docs
