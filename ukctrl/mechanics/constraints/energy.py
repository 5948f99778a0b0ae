"""Energy as a constraint: one row, at velocity level."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Number, Text, spec
from ukctrl.core.files.toml import blaming
from ukctrl.mechanics.constraints.constraint import Attached, Constraint, Rows, path_of_size
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.mechanics.reference import AnyReference, Constant

if TYPE_CHECKING:
    from ukctrl.core.arrays import Vector
    from ukctrl.robot import Robot, Snapshot

PROBE = 1.2345
"""A time at which a robot whose formulas contain the time is another than at 0 [s]."""


@spec
class EnergyFollows(Constraint):
    r"""The mechanical energy follows a value: $\psi = E(q, v) - E_d(t) = 0$ [J].

    Nonholonomic, and of first order: along every motion

    $$ \dot E = v^\top M a + v^\top \mathrm{nle} + \dot E_\mathrm{springs}, $$

    so that $A = v^\top M$. The row vanishes at rest, where no input changes the energy.

    With ``joints`` it is the energy that the robot would have if the others stood still where they
    are, $\tfrac12 s^\top M s + V(q)$ with $s$ the velocity of these joints alone: the pole's in the
    axes of its cart. Where the others move only $V$ and $M_{ss}$ stays as it is, such as for a
    pole on a cart, they change it by their acceleration alone.

    References:
        Udwadia & Kalaba, "Analytical Dynamics", 1996, chapter 3, on constraints of energy; Astrom
        & Furuta, "Swinging up a pendulum by energy control", Automatica 36, 2000.
    """

    kind: Literal["energy"] = "energy"
    joints: tuple[Text, ...] = ()
    """Degrees of freedom whose energy counts; absent: all."""
    at: dict[Text, Number] | None = None
    """Configuration whose energy at rest is the level, such as ``{ pole = "pi" }``; what is left
    out is neutral."""
    path: AnyReference | None = None
    """Level over time instead, one component [J]; its derivative is used too."""

    @model_validator(mode="after")
    def _one_level(self) -> Self:
        if (self.at is None) == (self.path is None):
            came = "none" if self.at is None else "both"
            raise InputError(f"give exactly one of at and path; got {came}.")
        return self

    def attach(self, robot: Robot) -> Attached:
        return _Energy(self, robot)


class _Energy(Attached):
    def __init__(self, spec: EnergyFollows, robot: Robot) -> None:
        self.block = spec.name or "energy"
        self.names, self.units, self.holonomic = (self.block,), ("J s",), (False,)
        _require_energy(robot)
        path = spec.path
        if path is None:
            with blaming("at"):
                q = robot.configuration(spec.at or {})
            path = Constant(value=(robot.snapshot(q).potential_energy(),))
        self._path = path_of_size(path, 1, f"path of '{self.block}'")
        self._own = np.ones(robot.nv)
        if spec.joints:
            self._own[:] = 0.0
            self._own[[dof_index(robot, joint) for joint in spec.joints]] = 1.0
        self._partial = not self._own.all()
        self._scratch = robot.snapshot(robot.neutral)

    def write(self, s: Snapshot, rows: Rows) -> None:
        self._path.move(s.t)
        level, level_rate, _ = self._path.now.tolist()
        v, force = s.v, s.nle
        if self._partial:
            v = self._own * s.v
            force = self._change(s, v, s.v - v)
        momentum = s.M @ v
        rate = float(v @ force)
        if self._partial:
            rate += float((s.v - v) @ s.gravity)
        if s.robot.forces.any:
            rate += s.robot.forces.potential_rate(s)
        rows.A[0] = self._own * momentum
        rows.phi[0] = math.nan
        rows.beta[0] = 0.5 * float(v @ momentum) + s.potential_energy() - level
        rows.b[0] = level_rate - rate

    def _change(self, s: Snapshot, own: Vector, others: Vector) -> Vector:
        r"""Return the force whose power at the own velocity changes the energy, at fixed speed.

        With $c$ the Coriolis force, a quadratic form of the velocity, and $g$ gravity, the mass
        matrix changes by $\tfrac12 w^\top \dot M w = \tfrac12 w^\top (c(w + o) + c(w) - c(o))$
        along the own velocity $w$ and that of the others $o$.
        """
        scratch, force = self._scratch, s.nle + s.gravity
        scratch.move(s.q, own, s.t)
        force += scratch.nle
        scratch.move(s.q, others, s.t)
        force -= scratch.nle
        return 0.5 * force  # gravity is in it twice


def _require_energy(robot: Robot) -> None:
    """Refuse a robot whose energy is not known, or changes by itself as time goes on."""
    v = np.ones(robot.nv)
    q = robot.integrate(robot.neutral, PROBE * v)
    early, late = (sum(robot.snapshot(q, v, t).energy()) for t in (0.0, PROBE))
    if math.isnan(early):
        why = "its potential energy is not known; give its plant a potential"
    elif early != late:
        why = "its formulas contain the time t"
    else:
        return
    raise InputError(f"robot '{robot.name}' must have an energy of its state alone; {why}.")
