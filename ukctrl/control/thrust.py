"""A body that can push along one of its axes only, and must turn to push elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from ukctrl.constraints import Rows, Stack
from ukctrl.control.allocation import Allocation, AnyAllocation, LeastNorm
from ukctrl.control.base import NO_MEMORY, Command, Controller, Law, Signal, Task
from ukctrl.dynamics import Dynamics
from ukctrl.errors import InputError
from ukctrl.factor import Matrix, Vector
from ukctrl.fields import Instance, Rate, RateSquared, Text, spec
from ukctrl.reference import AnyReference, Constant
from ukctrl.reference.rotation import to_axis_angle

AHEAD = 1e-4
"""How far ahead the wanted direction is differenced [s]; its error is of the first order."""
ALIGNED = 1e-6
"""The thrust must point along the frame's z axis to this [rad]."""
FALLING = 1e-3
"""Wanted thrusts below this leave the direction open [m/s^2]."""


@spec
class ThrustVectoring(Controller):
    r"""Two loops: the position says where the thrust must point, the body turns there.

    The position rows ask for $\ddot p^* = \ddot r - \alpha \dot e - \beta e$, to which the inputs
    must add $d = \ddot p^* - A a_\mathrm{free}$. They reach the share of it along their own
    direction $e_z$. The law asks for that share and turns $e_z$ towards $d$:

    $$ e_z^\top A\, a = e_z^\top \ddot p^*, \qquad
       \dot\omega = \dot\omega^* - \alpha_R (\omega - \omega^*) - \beta_R\, \phi_R, $$

    four rows for the four inputs of a quadrotor, met exactly by the allocation. $\phi_R$ is the
    rotation left to the frame whose z axis is $d / \lVert d \rVert$ and whose x axis lies nearest
    the heading; $\omega^*$ follows from where $d$ will be under the present thrust.
    $\dot\omega^*$ is left out, so the position error is of the order of the wanted jerk's rate
    over $\beta \beta_R$. Stable where the turning is several times as fast as the moving.

    References:
        Lee, Leok & McClamroch, "Geometric tracking control of a quadrotor UAV on SE(3)", CDC 2010.
    """

    kind: Literal["thrust_vectoring"] = "thrust_vectoring"
    frame: Text
    """Frame of the body, its z axis along the thrust."""
    alpha: Rate
    """Gain of the velocity error [1/s]."""
    beta: RateSquared
    """Gain of the position error [1/s^2]."""
    alpha_turn: Rate
    r"""Gain of the turning rate's error $\alpha_R$ [1/s]."""
    beta_turn: RateSquared
    r"""Gain of the attitude error $\beta_R$ [1/s^2]."""
    heading: AnyReference = Constant(value=(0.0,))
    """Direction of the x axis about the vertical, one component [rad]."""
    allocation: AnyAllocation | Annotated[Allocation, Instance()] = LeastNorm()
    """Which input gives the four rows."""

    def start(self, task: Task) -> Law:
        return _ThrustLaw(self, task)


class _ThrustLaw(Law):
    def __init__(self, spec: ThrustVectoring, task: Task) -> None:
        super().__init__(task)
        self._spec = spec
        self._heading = spec.heading.compile()
        self._ahead = Dynamics(task.robot, task.rank, task.gains)
        self._rows_ahead = Stack(task.servo, task.robot)
        self._names = ("thrust", *(f"{spec.frame}.r{axis}" for axis in "xyz"))
        self._check(task)
        self._allocator = spec.allocation.attach(task, self._names)

    def _check(self, task: Task) -> None:
        """Refuse a task or a robot that is not of this kind."""
        spec, robot, why = self._spec, task.robot, ""
        if spec.heading.size != 1:
            raise InputError(
                f"controller.heading must have one component; got {spec.heading.size}."
            )
        held = [trace.frame for trace in self.stack.traces()]
        if len(self.stack) != 3 or held != [spec.frame]:
            why = f"the task must be three rows that hold the position of '{spec.frame}'"
        else:
            self._ahead.move(task.start, task.q, task.v)
            pushes = self.stack.write(self._ahead.snapshot).A @ self._ahead.G
            e = self._ahead.snapshot.frame(spec.frame).rotation[:, 2]
            along = np.outer(e, e @ pushes)
            if not np.abs(pushes - along).max() <= ALIGNED * np.abs(pushes).max():
                why = f"every input must push '{spec.frame}' along its z axis alone"
        if why:
            raise InputError(
                f"robot '{robot.name}': {why} for kind = \"thrust_vectoring\"; "
                f'got rows {", ".join(self.stack.names)}. Use kind = "servo" for rows within reach.'
            )

    def _wanted(self, rows: Rows, dynamics: Dynamics) -> Vector:
        """Return what the inputs should add to the acceleration of the rows, shape ``(3,)``."""
        demand = rows.b - self._spec.alpha * rows.beta - self._spec.beta * rows.phi
        d: Vector = demand - rows.A @ dynamics.a_free
        return d

    def _orientation(self, t: float, d: Vector, now: Matrix) -> Matrix:
        """Return the orientation with its z axis along ``d`` and its x axis near the heading."""
        size = float(np.linalg.norm(d))
        z = d / size if size > FALLING else now[:, 2]
        (psi, *_) = self._heading(t)
        y = np.cross(z, (np.cos(psi), np.sin(psi), 0.0))
        length = float(np.linalg.norm(y))
        y = y / length if length > ALIGNED else now[:, 1]
        return np.column_stack([np.cross(y, z), y, z])

    def _rate(self, dynamics: Dynamics, rows: Rows, thrust: Vector, R: Matrix) -> Vector:
        """Return how fast the wanted orientation turns while the thrust stays, in world axes."""
        s, ahead = dynamics.snapshot, self._ahead
        pushes = rows.A @ dynamics.G
        u = np.asarray(np.linalg.lstsq(pushes, thrust, rcond=None)[0], dtype=np.float64)
        v = s.v + AHEAD * dynamics.acceleration(u)
        q = dynamics.robot.integrate(s.q, AHEAD * s.v)
        ahead.move(s.t + AHEAD, q, v)
        d = self._wanted(self._rows_ahead.write(ahead.snapshot), ahead)
        axis, angle = to_axis_angle(self._orientation(s.t + AHEAD, d, R) @ R.T)
        rate: Vector = angle / AHEAD * axis
        return rate

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        spec, s = self._spec, dynamics.snapshot
        rows, body = self.stack.write(s), s.frame(spec.frame)
        e, omega = body.rotation[:, 2], body.velocity[3:]
        d = self._wanted(rows, dynamics)
        along = float(e @ d)
        R = self._orientation(s.t, d, body.rotation)
        omega_wanted = self._rate(dynamics, rows, along * e, R)
        axis, angle = to_axis_angle(body.rotation @ R.T)
        tilt = 4.0 * np.tan(0.25 * angle) * axis
        turn = -spec.alpha_turn * (omega - omega_wanted) - spec.beta_turn * tilt
        A = np.vstack([e @ rows.A, body.J[3:]])
        demand = np.concatenate(([along + e @ rows.A @ dynamics.a_free], turn - body.drift[3:]))
        zero = np.zeros(4)
        u = self._allocator.input(Rows(A, demand, zero, zero), demand, dynamics)
        return Command(u, NO_MEMORY)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return how far the thrust is from where it should point."""
        s = dynamics.snapshot
        d = self._wanted(self.stack.write(s), dynamics)
        e = s.frame(self._spec.frame).rotation[:, 2]
        angle = np.arctan2(np.linalg.norm(np.cross(e, d)), e @ d)
        return {"tilt_error": Signal(float(angle), "rad", "angle from the wanted thrust")}
