"""A designed controller as a class for one's own loop; whether it answers as in a simulation."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.control.command import Command
from ukctrl.control.state_evaluator import StateEvaluator, take_state
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arguments import argument_error, expect
from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.files import AnyPath
from ukctrl.core.message_text import quote_text
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.constraints.contact import MODE, OPEN, SLIDING, STICKING, USES_PLAN
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.ode_system import advance_memory
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.law_checks import LawChecks
from ukctrl.simulation.assemble.right_hand_side import command_steps, copy_leading
from ukctrl.simulation.assemble.start_law import planned_start
from ukctrl.simulation.events.event_schedule import TIME_RTOL
from ukctrl.simulation.export.exported_step import Braking, ExportedStep, Port
from ukctrl.simulation.scenario import AnyScenario, Scenario, as_scenario

BRAKING_TIME = 0.1
"""In so many seconds motors brake to a third of their speeds, and never in less than two periods
for each of them: all together stay stable."""


@final
class Runtime:
    """The controller of a scenario, to be called at every tick of one's own loop.

    It is the law that a run of the scenario simulates, started on the same belief, task and
    start; called with the measured states of that run it returns the same inputs, bit for bit.
    All files are read here, none in `step`.

    Args:
        scenario: What the controller was designed on, its name, or the path of its file; of its
            robot only the belief is used.

    Raises:
        InputError: The scenario does not fit its robot.

    Example:
        >>> from ukctrl import Scenario
        >>> runtime = Runtime(Scenario.load("two-mass-spring"))
        >>> runtime.inputs
        ('F',)
        >>> runtime.step(0.0, runtime.q, runtime.v).shape
        (1,)
    """

    def __init__(self, scenario: AnyScenario) -> None:
        scenario = as_scenario(scenario)
        # by the code of a run, so that bits are equal
        law = Loop(scenario).law
        task, robot = law.task, law.task.robot
        self.scenario = scenario
        """What it was designed on."""
        self.robot = robot
        """The robot that it believes in."""
        self.coordinates = robot.coordinates
        """Names of the entries of ``q``, length nq."""
        self.dofs = robot.dofs
        """Names of the entries of ``v``, length nv."""
        self.inputs = robot.actuators
        """Names of the entries of what `step` returns, length nu."""
        q, v = planned_start(scenario, law)
        self.q, self.v = q.copy(), v.copy()
        """The state in which the task starts."""
        self.t = scenario.start.t
        """Time at which the task starts [s]."""
        self.end = self.t + scenario.timing.duration - TIME_RTOL * scenario.timing.sample
        """Time before which the last tick of a run of the scenario lies [s]."""
        dynamics = Dynamics(robot, task.rank, task.gains)
        robots = dynamics, *(law.keeper.predicted_robots if law.keeper is not None else ())
        self._contact_models = [model.contacts for model in robots if model.contacts is not None]
        self.contacts = self._contact_models[0].names if self._contact_models else ()
        """Names of the contacts that only push, of which `step` can be told."""
        self._s, self._tick, self._begin = dynamics.snapshot, law.tick(dynamics), law.memory
        self._dynamics = dynamics
        self._memory, self._rate = np.zeros((2, len(law.memory)))
        self._clock = np.zeros(1)
        self._gains = law.gains
        self._answers = LawChecks(scenario.controller, law, robot.nu)
        self._tick.check_command = self._check
        steps = (
            *self._advance_memory_steps(),
            *law.before_answer(dynamics),
            *self._answer(),
            # last: after a tick that fails, the memory is that of the tick before
            *self._save_memory_steps(),
        )
        self._steps = KernelSequence(steps)
        self._measured = StateEvaluator(self._s, self._steps)
        self.restart()

    @classmethod
    @explain_argument_errors
    def load(cls, folder: AnyPath, *, trust: bool = False) -> Runtime:
        """Return the controller in a folder that `ukctrl export` wrote.

        Its robots are loaded from the copies of their files there.

        Args:
            folder: The folder.
            trust: Whether Python code that the files name may run.

        Raises:
            InputError: A file is missing, or not acceptable.
        """
        return cls(Scenario.load(Path(folder) / "scenario.toml", trust=trust))

    def _advance_memory_steps(self) -> Iterator[KernelStep]:
        """Yield what advances the memory from the last tick to this one."""
        args = self._s.clock, self._clock, self._tick.memory, self._rate
        yield BoundKernel(copy_leading, self._memory, self._tick.memory)
        yield BoundKernel(advance_memory, *args)

    def _answer(self) -> Iterator[KernelStep]:
        return command_steps(self._tick, self._s, self._answers)

    def _save_memory_steps(self) -> Iterator[KernelStep]:
        """Yield what keeps the memory of a tick that has succeeded."""
        tick = self._tick
        pairs = (self._s.clock, self._clock), (tick.memory, self._memory)
        for source, target in (*pairs, (tick.memory_rate, self._rate)):
            yield BoundKernel(copy_leading, source, target)

    def _check(self, command: Command) -> None:
        """Check what a law of Python answers."""
        self._answers.check(self._s.t, self._s.q, self._s.v, command)

    def restart(self) -> None:
        """Forget what was learnt and when the last tick was; the task starts anew."""
        self._memory[:], self._rate[:], self._clock[0] = self._begin, 0.0, self.t
        self._at = -math.inf
        self._set_contact_modes(np.full(len(self.contacts), 2.0))

    def _set_contact_modes(self, contacts: ArrayLike) -> None:
        """Let the robots of the law have contacts that do this: 0 open, 1 slide, 2 stick."""
        if not self._contact_models:
            if np.size(contacts):
                raise InputError(
                    "contacts must be left out: the robot has none that only push (with mu)."
                )
            return
        modes, mu = np.asarray(contacts, dtype=np.float64), self._contact_models[0].mu
        if modes.shape != mu.shape or not np.isin(modes, (0.0, 1.0, 2.0)).all():
            raise InputError(
                f"contacts must be one of 0 (open), 1 (slides) and 2 (sticks) for each of "
                f"{quoted(self.contacts)}; got {quote_text(str(contacts))}."
            )
        states = np.zeros((len(mu), USES_PLAN))
        still = np.where(mu > 0.0, STICKING, SLIDING)
        states[:, MODE] = np.choose(modes.astype(int), [OPEN, SLIDING, still])
        for model in self._contact_models:
            model.copy_modes(dict(zip(self.contacts, states, strict=True)))

    @property
    def exported_step(self) -> ExportedStep:
        """What a step runs, for those who run it elsewhere."""
        s, models, robot = self._s, self._contact_models, self.robot
        mu = models[0].mu if models else np.zeros(0)
        structure, actuation = robot.structure, robot.actuation
        q, v = structure.coordinate_units, structure.dof_units
        return ExportedStep(
            "controller",
            self._steps,
            take_state,
            (structure.manifold_table, s.clock, s.q, s.v),
            (
                Port("q", "measured configuration", self.coordinates, q, s.q, self.q),
                Port("v", "measured velocity", self.dofs, v, s.v, self.v),
            ),
            (
                Port("u", "inputs to hold until the next tick", self.inputs, actuation.units,
                     self._tick.u, np.zeros(len(self.inputs))),
            ),
            "the state is refused: q or v is not finite, or a rotation is not of unit length",
            self._braking(),
            self.contacts,
            tuple(model.mode for model in models),
            tuple(np.where(mu > 0.0, STICKING, SLIDING).tolist()),
            self._gains,
        )  # fmt: skip

    def _braking(self) -> Braking | None:
        """Return how motors brake, by the inertia that each feels at the start."""
        robot, period = self.robot, self.scenario.timing.control or 0.0
        # a motor that pushes elsewhere at another state would not brake there
        if robot.actuation.varies:
            return None
        self._dynamics.move(self.t, self.q, self.v)
        s, time_constant = self._s, max(BRAKING_TIME, 2.0 * robot.nu * period)
        mobility = np.einsum("ik,ik->k", s.B, self._dynamics.G)
        with np.errstate(divide="ignore"):
            damping = np.where(mobility > 0.0, 1.0 / (mobility * time_constant), 0.0)
        low, high = robot.input_bounds(np.zeros(robot.nu))
        return Braking(damping[:, None] * s.B.T, low, high)

    @property
    def memory(self) -> Array:
        """What the law remembers, such as integrals, at the last tick."""
        return self._memory.copy()

    def step(
        self, t: float, q: ArrayLike, v: ArrayLike, contacts: ArrayLike | None = None
    ) -> Array:
        """Return the input to hold until the next tick.

        The law's memory advances by the time that has passed since the last call, as it does in a
        simulation with `timing.control`. It is one call of machine code, but for what a law or a
        plant has in Python.

        Args:
            t: Time since the task's zero, which grows from call to call [s].
            q: Measured configuration, shape ``(nq,)`` [rad, m].
            v: Measured velocity, shape ``(nv,)`` [rad/s, m/s].
            contacts: What the contacts of `contacts` do: 0 open, 1 slides, 2 sticks; absent: what
                they did at the last step, and at the first all stick. Those that the law plans to
                lift are open to it meanwhile.

        Returns:
            The inputs, shape ``(nu,)`` [N m, N].

        Raises:
            ShapeError: ``q`` or ``v`` does not have the shape of the robot.
            NotFinite: The input would not be finite.
            InfeasibleConstraint: The task asks for what the motors cannot give.
            InputError: Time runs backwards; ``q`` or ``v`` is not finite; there are other contacts.
        """
        # so written, NaN is refused as well
        try:
            later = t > self._at
        except TypeError:
            raise argument_error("t", "a number [s]", t) from None
        if not later:
            raise InputError(
                f"t must grow from call to call; got {t:g} s after {self._at:g} s. "
                "Call restart() to begin the task anew."
            )
        if contacts is not None:
            self._set_contact_modes(contacts)
        self._measured.evaluate(t, q, v)
        # after the answer: a tick that failed may be asked for again
        self._at = t
        return self._tick.u.copy()


class Replay(NamedTuple):
    """A controller beside the table of a run."""

    ticks: int
    """How many inputs were compared."""
    worst: float
    """Largest difference of an input [N m, N]; exactly 0 where it is the simulated controller."""
    at: float
    """When [s]."""
    mean_us: float
    """Mean time of a step, by the wall, but for the first, which may compile [us]."""
    compared: str = "input"
    """What was compared: each input of a tick, or each state at the end of one."""

    @property
    def identical(self) -> bool:
        """Whether there were inputs to compare, and all are the same bit for bit."""
        return self.ticks > 0 and self.worst == 0.0

    def __str__(self) -> str:
        """Return it as a sentence."""
        if not self.ticks:
            return "0 ticks: the table has none, and nothing was compared."
        if self.identical:
            agreement = f"every {self.compared} is the simulated one, bit for bit"
        elif math.isinf(self.worst):
            agreement = f"some have no {self.compared}s, the first at {self.at:g} s"
        else:
            agreement = f"{self.compared}s differ by {self.worst:.3g} at {self.at:g} s"
        return f"{self.ticks} ticks: {agreement}; {self.mean_us:.0f} us a step."


def replay(runtime: Runtime, motion: AnyPath) -> Replay:
    """Step a controller through the measured states of a run, and compare its inputs.

    Args:
        runtime: The controller; it is restarted.
        motion: The run's `motion.csv`, with one sample a tick.

    Raises:
        InputError: The table is not of this robot, or cannot be read.
    """
    path, runtime = Path(motion), expect("runtime", runtime, Runtime, "made of a scenario")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file), [])
            table = dict(zip(header, np.loadtxt(file, delimiter=",", ndmin=2).T, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"'{path}' is not a readable table: {error}.") from error
    names = {
        "q": [f"q.{name}" for name in runtime.coordinates],
        "v": [f"v.{name}" for name in runtime.dofs],
        "u": [f"u.{name}" for name in runtime.inputs],
    }
    instead = {"q": "q_measured", "v": "v_measured", "u": "u_commanded"}
    columns = {}
    for key, labels in names.items():
        measured_labels = [name.replace(key, instead[key], 1) for name in labels]
        chosen = measured_labels if set(measured_labels) <= set(table) else labels
        missing = [name for name in ("time", *chosen) if name not in table]
        if missing:
            raise InputError(
                f"'{path}' must have a column '{missing[0]}'; it is of another robot, or no table "
                "of a motion."
            )
        columns[key] = np.column_stack([table[name] for name in chosen])
    feet = [f"contact.{name}" for name in runtime.contacts]
    has_contacts = bool(feet) and set(feet) <= set(table)
    felt = np.column_stack([table[name] for name in feet]) if has_contacts else None
    runtime.restart()
    worst, at, spent = 0.0, float("nan"), list[float]()
    times = table["time"]
    # at the end of a run no tick is due
    times = times[: int(np.count_nonzero(times < runtime.end))]
    for k, (t, q, v, u) in enumerate(
        zip(times.tolist(), columns["q"], columns["v"], columns["u"], strict=False)
    ):
        modes = None if felt is None else felt[k]
        began = time.perf_counter()
        answer = runtime.step(t, q, v, modes)
        spent.append(time.perf_counter() - began)
        apart = np.abs(answer - u)
        # NaN is less than nothing, and would pass for equal
        difference = max_abs(np.where(np.isnan(apart), np.inf, apart))
        if difference > worst:
            worst, at = difference, t
    return Replay(len(times), worst, at, 1e6 * float(np.mean(spent[1:] or spent or [0.0])))
