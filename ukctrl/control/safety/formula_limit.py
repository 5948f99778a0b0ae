"""A formula that stays at or above zero."""

from __future__ import annotations

import re
from typing import Literal

from ukctrl.control.safety.inequality import (
    BoundInequality,
    Inequality,
    InequalityRow,
    RelativeDegreeValue,
)
from ukctrl.control.task import Task
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints.joints import Expression, Formulas

VELOCITY_PATTERN = re.compile(r"\bv\s*\.")
"""How a formula names a velocity."""


class _FormulaRows(Expression):
    TOML_KEY = "h"


@spec
class FormulaLimit(Inequality):
    r"""A formula stays at or above zero: $h(q, t) \ge 0$, or with velocities $h(q, v, t) \ge 0$.

    Derivatives are exact. One with a velocity in it has relative degree 1, another one 2.
    """

    kind: Literal["expression"] = "expression"
    h: Formulas
    """One formula or a list of them, over coordinate names, velocities ``v.q1`` and ``t``."""
    unit: str = ""
    """Unit of ``h``, such as ``"rad"``; for labels only."""

    def keeps(self, task: Task) -> BoundInequality:
        texts = (self.h,) if isinstance(self.h, str) else self.h
        of_velocities = [bool(VELOCITY_PATTERN.search(text)) for text in texts]
        block, fast = self.name or "expression", any(of_velocities)
        if fast and not all(of_velocities):
            raise InputError(
                "h must be formulas that all have a velocity such as v.q1, or none of them; got "
                f"'{texts[of_velocities.index(False)]}' among others. Write two blocks."
            )
        unit = self.unit.removesuffix("/s") if fast else self.unit
        row = _FormulaRows(
            name=block, unit=unit, psi=texts if fast else None, phi=None if fast else texts
        )
        degree: RelativeDegreeValue = 1 if fast else 2
        names = ("",) if len(texts) == 1 else tuple(str(i + 1) for i in range(len(texts)))
        sides = (
            InequalityRow(name, self.unit, i, 1.0, 0.0, degree, self.margin)
            for i, name in enumerate(names)
        )
        return BoundInequality(block, row, tuple(sides))
