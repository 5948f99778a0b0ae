"""A scenario made ready to run: its robots, its start, and the right-hand side of its loop.

The only place that sees both the true robot and the believed one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.control import Command, Law, Task, law_name
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, NotFinite, ShapeError, unknown_name
from ukctrl.core.expression.units import constant
from ukctrl.core.files.toml import blaming
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.integrator import State
from ukctrl.mechanics.start import Start, solve_start
from ukctrl.robot import Robot
from ukctrl.simulation.effects import Bench
from ukctrl.simulation.effects.bound import Conditions
from ukctrl.simulation.loop.drift_limits import Watch
from ukctrl.simulation.loop.law_checks import Answers, started
from ukctrl.simulation.loop.plants_over_time import Plants, passive_gains
from ukctrl.simulation.loop.recorder import Recorder
from ukctrl.simulation.scenario import Believed, Scenario, StartState

NOT_UNIT = 1e-3
"""A quaternion off unit length by less than this is rounded, not wrong."""
MAX_SAMPLES = 10_000_000
"""More samples than this are a typing error."""


def true_robot(given: str | Mapping[str, Any] | Robot) -> Robot:
    """Return the robot that a scenario names, names and changes, or holds."""
    if isinstance(given, Mapping):
        return Robot.load(given["use"], override={k: v for k, v in given.items() if k != "use"})
    return given if isinstance(given, Robot) else Robot.load(given)


def believed_robot(robot: Robot, believed: Believed | None) -> Robot:
    """Return the believed robot; the very same object when belief is truth."""
    if believed is None or believed == Believed():
        return robot
    base = robot if believed.robot is None else true_robot(believed.robot)
    for what in ("coordinates", "dofs", "actuators"):
        wanted, came = getattr(robot, what), getattr(base, what)
        if wanted != came:
            raise InputError(
                f"believed robot '{base.name}' must have the {what} of the true one, "
                f"{', '.join(wanted)}; got {', '.join(came)}."
            )
    return believed.apply(base)


def start_state(
    start: StartState, robot: Robot, constraints: Sequence[Constraint], seed: int = 0
) -> tuple[Vector, Vector, dict[str, float]]:
    """Return ``q``, ``v``, and how far they were moved onto the constraints, where asked for.

    Raises:
        InputError: The state does not fit the robot.
        StartError: The constraints cannot be met from there.
    """
    home = robot.neutral if robot.home is None else robot.home
    q = _state("q", _angles(start.q, robot), robot.coordinates, robot.coordinate_units, home)
    for block in robot.blocks:  # a rotation is given by numbers without unit: (cos, sin) or xyzw
        at = [block.iq + i for i, unit in enumerate(block.coordinate_units) if unit in ("", "1")]
        if at and not abs(np.linalg.norm(q[at]) - 1.0) < NOT_UNIT:
            names = ", ".join(robot.coordinates[i] for i in at)
            raise InputError(f"start.q: {names} must have unit length; got {q[at].tolist()}.")
    if not robot.is_euclidean:
        q = robot.normalize(q)
    if start.spread:
        step = np.random.default_rng(seed).uniform(-start.spread, start.spread, robot.nv)
        q = robot.integrate(q, step)
    v = _state("v", start.v, robot.dofs, robot.dof_units, np.zeros(robot.nv))
    _relax(robot, start, q, v)
    if not start.solve:
        return q, v, {}
    with blaming("start.hold"):
        held = [dof_index(robot, name) for name in start.hold]
    stack = Stack(constraints, robot)
    solved = solve_start(stack, q, v, start.t, held, home)
    _relax(robot, start, solved.q, solved.v, np.asarray(stack.rows.A.any(axis=0)))
    return solved.q, solved.v, solved.moved(robot)


def _relax(
    robot: Robot,
    start: StartState,
    q: Vector,
    v: Vector,
    held: NDArray[np.bool_] | None = None,
) -> None:
    """Put motors of elastic joints that the start leaves out where their springs are relaxed.

    Or where they carry the load at rest. Motors that some constraint holds (``held``, by
    velocity) stay where it put them.
    """
    joints = robot.elastic
    if joints is None:
        if start.springs == "loaded":
            raise InputError(
                f"start.springs = 'loaded' needs elastic joints; robot '{robot.name}' has none."
            )
        return
    angles = joints.angles(q)
    if start.springs == "loaded":
        relaxed = q.copy()
        relaxed[joints.motor_coordinates] = angles
        s = robot.snapshot(relaxed, None, start.t)
        angles = angles + (s.gravity - s.f)[joints.links] / joints.stiffness
    for k, (motor, link) in enumerate(zip(joints.motors, joints.links, strict=True)):
        name = robot.dofs[motor]
        if held is not None and held[motor]:
            continue
        if not start.q or (isinstance(start.q, Mapping) and name not in start.q):
            q[joints.motor_coordinates[k]] = angles[k]
        if not start.v or (isinstance(start.v, Mapping) and name not in start.v):
            v[motor] = v[link]


def _angles(
    given: Mapping[str, float | str] | Sequence[float | str], robot: Robot
) -> Mapping[str, float | str] | Sequence[float | str]:
    """Return the state with angles of continuous joints as their cosine and sine."""
    if not isinstance(given, Mapping):
        return given
    state = dict(given)
    for name in [name for name in given if f"{name}_cos" in robot.coordinates]:
        with blaming(f"start.q.{name}"):
            angle = constant(state.pop(name), "rad")
        state[f"{name}_cos"], state[f"{name}_sin"] = math.cos(angle), math.sin(angle)
    return state


def _state(
    what: str,
    given: Mapping[str, float | str] | Sequence[float | str],
    names: tuple[str, ...],
    units: tuple[str, ...],
    default: Vector,
) -> Vector:
    state = default.copy()
    if not isinstance(given, Mapping):
        if given and len(given) != len(names):
            raise InputError(
                f"start.{what} must have {len(names)} numbers, {', '.join(names)}; "
                f"got {len(given)}."
            )
        given = dict(zip(names, given, strict=False))
    for name, value in given.items():
        if name not in names:
            raise unknown_name(f"coordinate (in start.{what})", name, names)
        at = names.index(name)
        with blaming(f"start.{what}.{name}"):
            state[at] = constant(value, units[at])
    return state


def grid(t0: float, t1: float, interval: float) -> list[float]:
    """Return output times: every interval, and the end."""
    if (t1 - t0) / interval > MAX_SAMPLES:
        raise InputError(
            f"timing.sample must leave at most {MAX_SAMPLES} samples; got "
            f"{(t1 - t0) / interval:.1e}. Lengthen it."
        )
    count = math.floor((t1 - t0) / interval * (1.0 + 1e-12) + 1e-9)
    times = [t0 + k * interval for k in range(count + 1)]
    if t1 - times[-1] <= 1e-9 * interval:
        times[-1] = t1
    else:
        times.append(t1)
    return times


class Loop:
    """A scenario, made ready to run.

    Args:
        scenario: What to run.
        robot: Its robot, where it has been loaded before.
    """

    def __init__(self, scenario: Scenario, robot: Robot | None = None) -> None:
        self.scenario = scenario
        self.robot = true_robot(scenario.robot) if robot is None else robot
        timing = scenario.timing
        self.t0, self.t1 = scenario.start.t, scenario.start.t + timing.duration
        bench = Bench(self.robot, self.t0, timing.duration, timing.control)
        self.conditions = met = Conditions(scenario.effect, bench, scenario.seed)
        believed = believed_robot(self.robot, scenario.believed)
        rank, gains = scenario.rank, passive_gains(scenario.stabilisation, scenario.integrator)
        self._plants = Plants(met.plants, rank, gains)
        self.truth = self._plants.dynamics
        same = believed is self.robot and not met.acts_on_plant and not met.senses
        self.belief = self.truth if same else Dynamics(believed, rank, gains)
        servo = Stack(scenario.servo, self.robot)
        every = (*self.truth.passive.constraints, *scenario.servo)
        q, v, self.moved = start_state(scenario.start, self.robot, every, scenario.seed)
        task = Task(
            robot=believed,
            servo=scenario.servo,
            q=q,
            v=v,
            start=self.t0,
            duration=timing.duration,
            period=timing.control,
            rank=rank,
            gains=gains,
            planned=scenario.start.planned,
        )
        self.law: Law = started(scenario.controller, task)
        if scenario.start.planned:
            q, v, self.moved = self._planned(q, v)
        self._answers = Answers(scenario.controller, self.law, self.robot.nu)
        self.state = State(q, v, self.law.memory)
        self.outputs = grid(self.t0, self.t1, timing.sample)
        with blaming("monitor.frames"):
            self.recorder = Recorder(
                self.truth, servo, self.law, len(self.outputs), scenario.monitor.frames, met
            )
        self.switches: list[float] = []
        """When the law switched [s]."""
        self.held: Vector | None = None
        """The input that a zero-order hold keeps; None under continuous control."""
        self._sampled = timing.control is not None
        self._direct = not met.drives
        self._metered = (met.acts_on_plant or self.law.switches) and not self._sampled
        """Whether the energy fed to the robot is integrated behind the law's memory."""
        self._watch = Watch(scenario.monitor, len(self.truth.passive) > 0)
        alone = self._sampled and self._direct
        self._plants.integrated_by(scenario, self, self._held_now if alone else None)

    def _held_now(self) -> Vector:
        """Return the input that a zero-order hold keeps."""
        assert self.held is not None  # it is from the first tick on
        return self.held

    def _planned(self, q: Vector, v: Vector) -> tuple[Vector, Vector, dict[str, float]]:
        """Return the start on the law's own motion, and how far that is from the given state."""
        planned = self.law.planned_state(self.t0)
        if planned is None:
            raise InputError(
                "start.planned: the controller must follow a motion that is worked out before the "
                f"run; '{law_name(self.scenario.controller)}' has none. Use kind = 'tvlqr' or "
                "'feedforward', or give the state."
            )
        moved = Start(*planned, self.robot.difference(q, planned[0]), planned[1] - v)
        return *planned, moved.moved(self.robot)

    def rates(self, t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the acceleration and the memory's rate: the right-hand side of the loop."""
        truth = self.truth
        truth.move(t, q, v)
        if self.held is not None:
            u = self.held if self._direct else self._applied(t, self.held)
            a = truth.acceleration(u)
            return a, np.array([truth.power(a, u)])
        if self._metered:
            return self._metered_rates(t, q, v, memory)
        if self.conditions.senses:
            q, v = self.conditions.sense(t, q, v)
        command = self.command(t, q, v, memory)
        u = command.u if self._direct else self._applied(t, command.u)
        try:
            a = truth.acceleration(u)
        except (ShapeError, NotFinite):
            raise self._answers.unusable(t, q, v, u) from None
        rate = command.memory_rate
        return a, self._answers.rate(t, q, v, command) if len(rate) else rate

    def _metered_rates(
        self, t: float, q: Vector, v: Vector, memory: Vector
    ) -> tuple[Vector, Vector]:
        """Return the same with the power fed to the robot as the memory's last rate."""
        seen = self.conditions.sense(t, q, v)
        command = self.command(t, *seen, memory[:-1])
        u = self._applied(t, command.u)
        try:
            a = self.truth.acceleration(u)
        except (ShapeError, NotFinite):
            raise self._answers.unusable(t, q, v, u) from None
        rate = self._answers.rate(t, q, v, command)
        return a, np.append(rate, self.truth.power(a, u))

    def truth_at(self, t: float) -> Dynamics:
        """Return the true robot of a time, as the effects on it have it then."""
        return self._plants.at(t)

    def command(self, t: float, q: Vector, v: Vector, memory: Vector) -> Command:
        """Step the law at a measured state; the true robot must have been moved to the true one."""
        if self.belief is not self.truth:
            self.belief.move(t, q, v)
        return self.law.step(self.belief, memory)

    def _applied(self, t: float, u: Vector) -> Vector:
        """Return what of an accepted command acts at the state of the true robot."""
        s = self.truth.snapshot
        return self.conditions.applied(t, u, s.v @ s.B)

    def _guard(self, t: float, state: State) -> float:
        """Return the law's guard at a state."""
        q, v, memory = state
        if self.conditions.senses and not self._sampled:
            q, v = self.conditions.sense(t, q, v)
        self.belief.move(t, q, v)
        return self.law.guard(self.belief, memory[: len(self.law.memory)])
