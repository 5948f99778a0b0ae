"""What a robot of formulas or functions is made from."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ukctrl.core.errors import unknown_name
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.robot.formulas.plant import FunctionPlant, Lagrangian, PlantFunctions
from ukctrl.robot.schema.plant_tables import Functions, FunctionsTable, LagrangianTable
from ukctrl.robot.schema.robot_file import Extras


@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Recipe:
    """What a robot of formulas or functions is made from."""

    table: LagrangianTable | FunctionsTable | Functions
    extras: Extras
    functions: PlantFunctions | None
    """The methods of a plant of functions."""
    name: str
    title: str
    source: str
    path: Path | None

    @cached_property
    def plant(self) -> Lagrangian | FunctionPlant:
        """Where the dynamics come from."""
        table = self.table
        if not isinstance(table, LagrangianTable):
            assert self.functions is not None  # the loader put it there
            return FunctionPlant(self.functions)
        names = tuple(table.coordinates)
        return Lagrangian(
            kinetic=table.kinetic,
            potential_energy=table.potential,
            dissipation=table.dissipation,
            words=Vocabulary(names, names, constants=tuple(table.parameters.items())),
        )

    def with_parameters(self, values: Mapping[str, float]) -> Recipe:
        """Return the recipe with some parameters changed.

        Raises:
            UnknownName: There is no such parameter.
        """
        known = dict(self.plant.parameters)
        for name in values:
            if name not in known:
                raise unknown_name("parameter", name, known)
        if isinstance(self.table, LagrangianTable):
            table = dc.replace(self.table, parameters={**self.table.parameters, **values})
            return dc.replace(self, table=table)
        functions: Any = self.functions
        return dc.replace(self, functions=dc.replace(functions, **values))
