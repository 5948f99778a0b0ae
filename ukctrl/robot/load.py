"""From files to the parts of a robot."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath, catalog
from ukctrl.core.files.plugins import load_class
from ukctrl.core.files.table_paths import merged
from ukctrl.core.files.toml import error_context, read_spec, read_toml
from ukctrl.robot.formulas.build_plant import build_plant
from ukctrl.robot.formulas.coordinate_structure import EquationPlantSpec
from ukctrl.robot.formulas.equation_plants import PlantFunctions
from ukctrl.robot.model_audit import written_unit_diagnostics
from ukctrl.robot.robot_base import RobotBase
from ukctrl.robot.schema.plant_tables import Functions, FunctionsTable, LagrangianTable
from ukctrl.robot.schema.robot_file import Options, RobotFile


def load(
    reference: AnyPath, referrer: AnyPath | None, override: Mapping[str, Any], trust: bool
) -> RobotBase:
    """Load a robot by name, from a ``robot.toml`` or from a model file; see `Robot.load`."""
    path = catalog.find("robots", reference, referrer)
    table = dict(override) if path.suffix != ".toml" else merged(read_toml(path), dict(override))
    robot = _load(path, table, f"{path}, as overridden" if override else str(path), trust)
    slips = written_unit_diagnostics(table, robot.structure, robot.actuation)
    return dc.replace(robot, audit=(*robot.audit, *slips))


def _load(path: Path, content: Mapping[str, Any], label: str, trust: bool) -> RobotBase:
    if path.suffix != ".toml":
        from ukctrl.robot.load_bodies import robot_from_source

        return robot_from_source(path, read_spec(Options, content, path, label=label), trust=trust)
    spec = read_spec(RobotFile, content, path, label=label)
    name = (path.parent.name if path.name == "robot.toml" else path.stem) or "robot"
    table = spec.lagrangian or spec.functions
    if table is None:
        from ukctrl.robot.load_bodies import robot_from_file

        return robot_from_file(spec, name, path, label, trust)
    functions = None
    if isinstance(table, FunctionsTable):
        functions = _trusted(table, path, trust)
    recipe = EquationPlantSpec(
        table=table,
        extras=spec,
        functions=functions,
        name=name,
        title=spec.title,
        source=spec.source,
        path=path,
    )
    return build_plant(recipe)


def build_equation_plant(
    plant: LagrangianTable | Functions, options: Options, name: str
) -> RobotBase:
    """Build a robot from a Lagrangian or from functions; see `Robot.build`."""
    with error_context(f"robot '{name}'"):
        options.refuse_bodies()
        recipe = EquationPlantSpec(
            table=plant,
            extras=options,
            functions=plant if isinstance(plant, Functions) else None,
            name=name,
            title=name,
            source="",
            path=None,
        )
        return build_plant(recipe)


def _trusted(table: FunctionsTable, path: Path, trust: bool) -> PlantFunctions:
    """Return the object that a ``[functions]`` table describes.

    Raises:
        InputError: Its code is not trusted, does not exist, or is no plant.
    """
    file, colon, name = table.file.rpartition(":")
    with error_context(path), error_context("functions.file"):
        if not colon or not file.endswith(".py"):
            raise InputError(f"must be such as './plant.py:Pendulum'; got '{table.file}'.")
        if not trust:
            raise InputError(
                f"'{table.file}' is Python code, which a file may not run by itself; read it, "
                "then say --trust (trust=True) to run it."
            )
        plant_class = load_class((path.parent / file).resolve(), name, PlantFunctions)  # type: ignore[type-abstract]
    return _instantiate(plant_class, table.parameters, path)


def _instantiate(plant_class: Any, parameters: Mapping[str, Any], path: Path) -> PlantFunctions:
    """Return a user's class with its fields set."""
    key = "functions.parameters"
    has_fields = bool(dc.is_dataclass(plant_class))
    if not has_fields and parameters:
        raise InputError(
            f"{path}: {key}: '{plant_class.__name__}' has no fields; decorate it with ukctrl.spec "
            "and give it some."
        )
    functions: PlantFunctions = (
        read_spec(plant_class, parameters, path, key=key) if has_fields else plant_class()
    )
    return functions
