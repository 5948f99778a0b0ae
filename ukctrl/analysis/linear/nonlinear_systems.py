r"""A scenario's plant and loop for python-control, as they are and not linearised.

The states are the coordinates $q$, the velocities $v$ and the law's memory. Where a robot has more
coordinates than velocities, $\dot q = N(q)\, v$ is the rate of the coordinates themselves: of the
cosine and sine of a continuous joint, of a quaternion. Their lengths are constants of that motion,
and what an integrator leaves of them is removed whenever the state is used, as in a run. Passive
constraints are part of the plant, with the stabilisation of the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ukctrl.analysis.linear.operating_point import plant_at
from ukctrl.analysis.linear.python_control import signal_names
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.robot import Robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.plant_sequence import make_integrator, stabilisation_gains
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.assemble.right_hand_side import held_system
from ukctrl.simulation.scenario import Scenario

if TYPE_CHECKING:
    import control


def plant_system(scenario: Scenario) -> control.NonlinearIOSystem:
    """Return the plant of a scenario: motors in, servo rows, ``q`` and ``v`` out.

    Raises:
        InputError: The scenario does not fit its robot.
    """
    import control

    robot = plant_at(scenario, scenario.start.t)
    plant = _NonlinearPlant(scenario, robot)

    def update(t: float, x: Vector, u: Vector, params: Mapping[str, Any]) -> Vector:
        q, v = plant.state(x)
        plant.dynamics.move(t, q, v)
        a = plant.dynamics.acceleration(np.array(u))
        return np.concatenate([robot.coordinate_rate(q, v), a])

    def outputs(t: float, x: Vector, u: Vector, params: Mapping[str, Any]) -> Vector:
        return plant.outputs_at(t, *plant.state(x))

    return control.nlsys(
        update,
        outputs,
        name="plant",
        dt=0,
        states=list(plant.states),
        inputs=list(signal_names(robot.actuators)),
        outputs=list(signal_names(plant.outputs)),
    )


def loop_system(scenario: Scenario) -> control.NonlinearIOSystem:
    """Return the closed loop of a scenario: forces added to the motors' in; rows, q, v, u out.

    Under continuous control it is a system in continuous time. With a hold it ticks: a step is a
    period, over which the scenario's own integrator moves the plant.

    Raises:
        InputError: The scenario has effects beside those on the plant, which have states of their
            own, or a law that switches; or it does not fit its robot.
    """
    import control

    loop = Loop(scenario)
    _require_no_hidden_states(scenario, loop)
    robot, period, law = loop.robot, scenario.timing.control, loop.law
    plant = _NonlinearPlant(scenario, loop.plant.robot)
    n = robot.nq + robot.nv

    def commanded(t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector]:
        loop.plant.move(t, q, v)
        command = loop.command(t, q, v, memory)
        return command.u.copy(), np.array(command.memory_rate)

    def rate(t: float, x: Vector, added: Vector, params: Mapping[str, Any]) -> Vector:
        q, v = plant.state(x[:n])
        u, memory_rate = commanded(t, q, v, x[n:])
        a = loop.plant.acceleration(u + added)
        return np.concatenate([robot.coordinate_rate(q, v), a, memory_rate])

    def tick(t: float, x: Vector, added: Vector, params: Mapping[str, Any]) -> Vector:
        assert period is not None  # only then it ticks
        q, v = plant.state(x[:n])
        u, memory_rate = commanded(t, q, v, x[n:])
        q, v = plant.step(t, q, v, u + added, t + period)
        return np.concatenate([q, v, x[n:] + period * memory_rate])

    def outputs(t: float, x: Vector, added: Vector, params: Mapping[str, Any]) -> Vector:
        q, v = plant.state(x[:n])
        return np.concatenate([plant.outputs_at(t, q, v), commanded(t, q, v, x[n:])[0]])

    memory = [f"memory {k + 1}" for k in range(len(law.memory))]
    motors = signal_names(robot.actuators)
    return control.nlsys(
        rate if period is None else tick,
        outputs,
        name="closed_loop",
        dt=period or 0,
        states=[*plant.states, *memory],
        inputs=[f"added_{name}" for name in motors],
        outputs=[*signal_names(plant.outputs), *(f"u_{name}" for name in motors)],
    )


def initial_state(scenario: Scenario) -> Vector:
    """Return the state of the closed loop at the start of a scenario: q, v and memory."""
    return np.concatenate(Loop(scenario).state)


def _require_no_hidden_states(scenario: Scenario, loop: Loop) -> None:
    effects = loop.effects
    if effects.senses or loop.estimator is not None or effects.drives or loop.law.switches:
        obstacle = "law that switches" if loop.law.switches else "sensors or drives between"
        raise InputError(
            f"a loop for python-control must have no {obstacle}, which have states that are not "
            "handed over. Take the linear loop, which has them, or remove the effects."
        )
    if len(effects.plants) > 1:
        raise InputError(
            "a loop for python-control must have one plant; an effect changes this one along the "
            "way. Remove the effect."
        )
    if not scenario.controller.acts:
        raise InputError("a loop must have a controller; take plant_system for the plant alone.")


@final
class _NonlinearPlant:
    """The plant as python-control's functions need it."""

    def __init__(self, scenario: Scenario, robot: Robot) -> None:
        self.robot = robot
        gains = stabilisation_gains(scenario.stabilisation, scenario.integrator)
        self.dynamics = Dynamics(robot, scenario.rank, gains)
        self._servo = Stack(servo_constraints(scenario), robot)
        self._u: Vector = np.zeros(robot.nu)
        self._integrator = make_integrator(
            scenario, held_system(self.dynamics, self._u), self.dynamics
        )
        self.states = (*robot.coordinates, *(f"v.{name}" for name in robot.dofs))
        self.outputs = (*self._servo.names, *self.states)

    def state(self, x: Vector) -> tuple[Vector, Vector]:
        """Return ``q``, with rotations of unit length, and ``v``."""
        robot = self.robot
        q, v = np.array(x[: robot.nq]), np.array(x[robot.nq :])
        return q if robot.is_euclidean else robot.normalize(q), v

    def step(self, t: float, q: Vector, v: Vector, u: Vector, stop: float) -> tuple[Vector, Vector]:
        """Return the state after a time with the input held."""
        self._u[:] = u
        *_, (_, state) = self._integrator.advance(
            t, IntegratorState(q, v, np.zeros(1)), stop, [stop]
        )
        return state.q, state.v

    def outputs_at(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the errors of the servo rows, ``q`` and ``v``."""
        rows = self._servo.write(self.robot.snapshot(q, v, t))
        errors = np.where(self._servo.holonomic, rows.phi, rows.beta)
        return np.concatenate([errors, q, v])
