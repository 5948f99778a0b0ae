"""Energy as a constraint: one row, at velocity level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Number, Text, spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, Rows, sample_path
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.mechanics.reference import AnyReference, Constant
from ukctrl.robot.applied_force_kernels import POWER

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot

TEST_TIME = 1.2345
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

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Energy(self, robot)


class _Energy(BoundConstraint):
    def __init__(self, spec: EnergyFollows, robot: Robot) -> None:
        self.block = spec.name or "energy"
        self.names, self.units, self.holonomic = (self.block,), ("J s",), (False,)
        _require_energy(robot)
        path = spec.path
        if path is None:
            with error_context("at"):
                q = robot.configuration(spec.at or {})
            path = Constant(value=(robot.snapshot(q).potential_energy(),))
        self._path = sample_path(path, 1, f"path of '{self.block}'")
        self._own = np.ones(robot.nv)
        if spec.joints:
            self._own[:] = 0.0
            self._own[[dof_index(robot, joint) for joint in spec.joints]] = 1.0
        self._partial = not self._own.all()
        self._potential = np.zeros(1)
        # the bias is quadratic in v: three evaluations tell the share of some joints' velocities
        shares = (self._own, 1.0 - self._own, np.zeros(robot.nv)) if self._partial else ()
        self._apart = [(share, robot.snapshot(robot.neutral)) for share in shares]

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        path, steps = self._path, [*s.potential_steps(self._potential)]
        state = s.q, s.v, s.clock
        for share, apart in self._apart:
            steps.append(
                BoundKernel(write_partial_state, *state, share, apart.q, apart.v, apart.clock)
            )
            steps += apart.terms()
        forces = BiasForces(s.nle, *([apart.nle for _, apart in self._apart] or [s.nle] * 3))
        args = self._own, self._partial, s.v, s.M, forces, s.stored, self._potential
        momentum = np.zeros(len(s.v))
        return (
            *steps,
            path.step(s.clock),
            BoundKernel(energy_row, *args, path.values, momentum, rows),
        )


class BiasForces(NamedTuple):
    """Coriolis and gravity forces at one configuration, by the velocities that count."""

    total: Vector
    own: Vector
    """With the velocities of the energy's joints alone."""
    others: Vector
    """With those of the other joints alone."""
    gravity: Vector
    """Without any."""


@compiled
def write_partial_state(
    q: Vector, v: Vector, clock: Vector, share: Vector, to_q: Vector, to_v: Vector, to_clock: Vector
) -> None:
    """Write a state with a share of each velocity."""
    to_clock[0] = clock[0]
    for i in range(len(q)):
        to_q[i] = q[i]
    for c in range(len(v)):
        to_v[c] = share[c] * v[c]


@compiled
def energy_row(
    mask: Vector,
    partial: bool,
    v: Vector,
    M: Matrix,
    forces: BiasForces,
    stored: Vector,
    potential: Vector,
    path: Vector,
    momentum: Vector,
    rows: Rows,
) -> None:
    r"""Write the row of an energy; ``mask`` is 1 where a velocity counts, and else 0.

    With $c$ the Coriolis force, a quadratic form of the velocity, and $g$ gravity, the mass
    matrix changes by $\tfrac12 w^\top \dot M w = \tfrac12 w^\top (c(w + o) + c(w) - c(o))$
    along the own velocity $w$ and that of the others $o$. The bias forces come at all three, and
    ``momentum`` is room for that of ``w``.
    """
    A, b, beta, phi = rows
    nle, nle_own, nle_others, gravity = forces
    kinetic, rate = 0.0, stored[POWER]
    for i in range(len(v)):
        momentum[i] = 0.0
        for k in range(len(v)):
            momentum[i] += M[i, k] * (mask[k] * v[k])
        w = mask[i] * v[i]
        kinetic += 0.5 * w * momentum[i]
        if partial:
            # the bilinear part of Coriolis forces, by polarisation
            rate += w * 0.5 * (nle[i] + gravity[i] + nle_own[i] - nle_others[i])
            rate += (v[i] - w) * gravity[i]
        else:
            rate += w * nle[i]
        A[0, i] = mask[i] * momentum[i]
    phi[0] = np.nan
    beta[0] = kinetic + potential[0] - path[0]
    b[0] = path[1] - rate


def _require_energy(robot: Robot) -> None:
    """Refuse a robot whose energy is not known, or changes by itself as time goes on."""
    v = np.ones(robot.nv)
    q = robot.integrate(robot.neutral, TEST_TIME * v)
    # with the time in it the energy is no function of the state
    early, late = (sum(robot.snapshot(q, v, t).energy()) for t in (0.0, TEST_TIME))
    if math.isnan(early):
        reason = "its potential energy is not known; give its plant a potential"
    elif early != late:
        reason = "its formulas contain the time t"
    else:
        return
    raise InputError(f"robot '{robot.name}' must have an energy of its state alone; {reason}.")
