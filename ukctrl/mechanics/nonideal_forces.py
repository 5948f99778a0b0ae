r"""Constraints that are not ideal: what they do beside their reaction.

The paper's $c(q, v, t)$, eqs (12)-(13) of Liu et al. 2015. A passive constraint transmits its
ideal reaction, which does no work along any motion that it allows, and on top of it a given force:
friction in a hinge, or whatever a user writes down. The part of that force which the constraint
itself can take up, it takes up; what is left of it,

$$ Q_\mathrm{ni} = M^{1/2} (I - B^+ B) M^{-1/2} c, \qquad B = A_p M^{-1/2}, $$

changes the motion. That is the answer to $c$ as to any applied force, so it is added to those.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, final

import numpy as np
from pydantic import BeforeValidator, Field

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.expression.symbolic import Vocabulary, check_names
from ukctrl.core.fields import Formula, JointDamping, JointEffort, JointSpeed, spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import BoundConstraint, SlidingVelocity
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.robot.forces import FormulaForce

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@spec
class Viscous:
    r"""Friction proportional to the sliding or turning velocity, $-c\, s$."""

    kind: Literal["viscous"] = "viscous"
    coefficient: JointDamping
    """[N s/m] where the constraint slides, [N m s/rad] where it turns."""


@spec
class Coulomb:
    r"""Dry friction of a given level, smoothed: $-\ell\, (s/|s|) \tanh(|s|/s_0)$.

    The level does not follow the reaction. Friction that did would depend on the input through
    the reaction, and the robot would no longer answer its input affinely.
    """

    kind: Literal["coulomb"] = "coulomb"
    level: JointEffort
    """Friction while sliding or turning [N or N m]."""
    velocity_scale: JointSpeed = 0.01
    """Velocity $s_0$ at which 76 % of the level is reached [m/s or rad/s]; smaller is stiffer."""


AnyFriction = Annotated[Viscous | Coulomb, Field(discriminator="kind")]


def _listed(value: object) -> object:
    return (value,) if isinstance(value, Mapping) else value


@spec
class NonidealTable:
    """What a ``[[passive]]`` table says beside the constraint itself."""

    friction: Annotated[tuple[AnyFriction, ...], BeforeValidator(_listed)] = ()
    """One kind of friction or several, on the velocity at which the constraint slides or turns."""
    nonideal: dict[str, Formula] = dc.field(default_factory=dict)
    """Generalised force [N or N m] by degree of freedom: formulas of the coordinates, of
    velocities ``v.<name>`` and of ``t``."""


class NonidealForce(Protocol):
    """A force that a passive constraint exerts beside its reaction."""

    def steps(self, snapshot: Snapshot, f: Vector, /) -> Sequence[KernelStep]:
        """Return what adds the generalised force, after the constraint has written its rows."""


@final
class _ConstraintFriction:
    def __init__(self, specs: tuple[Viscous | Coulomb, ...], slip: SlidingVelocity) -> None:
        self._slip = slip
        self._viscous = float(sum(s.coefficient for s in specs if isinstance(s, Viscous)))
        dry = [(s.level, s.velocity_scale) for s in specs if isinstance(s, Coulomb)]
        self._dry: Matrix = np.array(dry, dtype=np.float64).reshape(-1, 2)

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        J, written = self._slip
        buffer = np.zeros(len(J))
        return *written, BoundKernel(
            add_friction, J, snapshot.v, self._viscous, self._dry, buffer, f
        )


@compiled
def add_friction(
    J: Matrix, v: Vector, viscous: float, dry: Matrix, slip: Vector, f: Vector
) -> None:
    """Add the friction on the velocity ``J v``; ``slip`` is room for it.

    ``dry`` has a level and a velocity scale in each line, shape ``(k, 2)``.
    """
    squared = 0.0
    for i in range(len(J)):
        slip[i] = 0.0
        for c in range(len(v)):
            slip[i] += J[i, c] * v[c]
        squared += slip[i] * slip[i]
    speed, factor = np.sqrt(squared), viscous
    # tanh(s/s0)/s has a limit at rest, but the slip it multiplies is zero
    if speed > 0.0:
        for k in range(len(dry)):
            factor += dry[k, 0] * math.tanh(speed / dry[k, 1]) / speed
    for i in range(len(J)):
        for c in range(len(v)):
            f[c] -= J[i, c] * (factor * slip[i])


def _formula_force(formulas: Mapping[str, str], robot: Robot) -> FormulaForce:
    words, dofs = Vocabulary(robot.coordinates, robot.dofs), []
    for name, text in formulas.items():
        with error_context(f"nonideal.{name}"):
            dofs.append(dof_index(robot, name))
            check_names(text, words)
    force = FormulaForce(tuple(dofs), tuple(formulas.values()), words)
    _ = force.compiled  # now, so that its faults are the table's
    return force


def nonideal_forces(
    spec: NonidealTable, block: BoundConstraint, robot: Robot
) -> list[NonidealForce]:
    """Return what a passive constraint exerts beside its reaction.

    Raises:
        InputError: The constraint neither slides nor turns, or a formula is not acceptable.
    """
    forces: list[NonidealForce] = []
    if spec.friction:
        slip = block.slip()
        if slip is None:
            raise InputError(
                f"friction needs a constraint that slides or turns; '{block.block}' leaves nothing "
                'to rub. Write the force as formulas, nonideal = { <velocity> = "..." }.'
            )
        forces.append(_ConstraintFriction(spec.friction, slip))
    if spec.nonideal:
        forces.append(_formula_force(spec.nonideal, robot))
    return forces


def split_nonideal(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the part of a ``[[passive]]`` table that is the constraint, and the rest."""
    options = {key: value for key, value in table.items() if key in ("friction", "nonideal")}
    return {key: value for key, value in table.items() if key not in options}, options
