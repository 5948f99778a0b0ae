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
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import numpy as np
from pydantic import BeforeValidator, Field

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.expression.symbolic import Vocabulary, check
from ukctrl.core.fields import Formula, JointDamping, JointEffort, JointSpeed, spec
from ukctrl.core.files.toml import blaming
from ukctrl.core.program import Step
from ukctrl.mechanics.constraints import Attached
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.robot.forces import Added, Given

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@spec
class Viscous:
    r"""Friction proportional to the sliding or turning velocity, $-c\, s$."""

    kind: Literal["viscous"] = "viscous"
    coefficient: JointDamping
    """[N s/m] where the constraint slides, [N m s/rad] where it turns."""

    def push(self, slip: Vector) -> Vector:
        """Return the friction for a sliding or turning velocity."""
        return np.asarray(-self.coefficient * slip)


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

    def push(self, slip: Vector) -> Vector:
        """Return the friction for a sliding or turning velocity."""
        speed = float(np.sqrt(slip @ slip))
        if speed == 0.0:
            return np.zeros(len(slip))
        factor = self.level * np.tanh(speed / self.velocity_scale) / speed
        return np.asarray(-factor * slip)


AnyFriction = Annotated[Viscous | Coulomb, Field(discriminator="kind")]


def _listed(value: object) -> object:
    return (value,) if isinstance(value, Mapping) else value


@spec
class NonIdeal:
    """What a ``[[passive]]`` table says beside the constraint itself."""

    friction: Annotated[tuple[AnyFriction, ...], BeforeValidator(_listed)] = ()
    """One kind of friction or several, on the velocity at which the constraint slides or turns."""
    nonideal: dict[str, Formula] = dc.field(default_factory=dict)
    """Generalised force [N or N m] by degree of freedom: formulas of the coordinates, of
    velocities ``v.<name>`` and of ``t``."""


class Push(Protocol):
    """A force that a passive constraint exerts beside its reaction."""

    def steps(self, snapshot: Snapshot, f: Vector, /) -> Sequence[Step]:
        """Return what adds the generalised force, after the constraint has written its rows."""


class _Friction(Added):
    def __init__(self, specs: tuple[Viscous | Coulomb, ...], part: Attached) -> None:
        self._specs, self._part = specs, part

    def add(self, snapshot: Snapshot, f: Vector) -> None:
        J = self._part.slip()
        if J is None:
            raise AssertionError  # refused when it was made
        velocity = J @ snapshot.v
        for friction in self._specs:
            f += J.T @ friction.push(velocity)


def _given(formulas: Mapping[str, str], robot: Robot) -> Given:
    words, dofs = Vocabulary(robot.coordinates, robot.dofs), []
    for name, text in formulas.items():
        with blaming(f"nonideal.{name}"):
            dofs.append(dof_index(robot, name))
            check(text, words)
    given = Given(tuple(dofs), tuple(formulas.values()), words)
    _ = given.compiled  # now, so that its faults are the table's
    return given


def pushes(spec: NonIdeal, part: Attached, robot: Robot) -> list[Push]:
    """Return what a passive constraint exerts beside its reaction.

    Raises:
        InputError: The constraint neither slides nor turns, or a formula is not acceptable.
    """
    every: list[Push] = []
    if spec.friction:
        if not part.slides:
            raise InputError(
                f"friction needs a constraint that slides or turns; '{part.block}' leaves nothing "
                'to rub. Write the force as formulas, nonideal = { <velocity> = "..." }.'
            )
        every.append(_Friction(spec.friction, part))
    if spec.nonideal:
        every.append(_given(spec.nonideal, robot))
    return every


def split(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the part of a ``[[passive]]`` table that is the constraint, and the rest."""
    own = {key: value for key, value in table.items() if key in ("friction", "nonideal")}
    return {key: value for key, value in table.items() if key not in own}, own
