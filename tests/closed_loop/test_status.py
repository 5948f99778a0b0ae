"""How runs end: every status, with the samples up to that moment."""

import dataclasses as dc
import re

import numpy as np
import pytest

from ukctrl import Command, Controller, Law, Robot, Scenario, Signal, check, simulate
from ukctrl.control import BoundFeedback, Feedback, Servo
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints import Expression, JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.simulation.effects import Drive, InputEffect, Sensor, SensorEffect

RUN = {"timing.duration": 1.0, "timing.sample": 0.1}
WAYS = [{}, {"timing.control": 0.001}, {"integrator": {"method": "RK4", "step": 0.01}}]


def test_a_run_that_reaches_its_end_is_completed():
    result = simulate(Scenario.load("scara-helix", RUN))
    assert (result.status, result.message) == ("completed", "")
    assert len(result.time) == 11


@pytest.mark.parametrize("changes", WAYS)
def test_an_interruption_keeps_the_samples_so_far(changes):
    def press_ctrl_c(reached, duration):
        if reached > 0.45:
            raise KeyboardInterrupt

    result = simulate(Scenario.load("scara-helix", RUN | changes), progress=press_ctrl_c)
    assert (result.status, "steps of" in result.message) == ("interrupted", False)
    assert 4 < len(result.time) < 11
    np.testing.assert_allclose(result.time, 0.1 * np.arange(len(result.time)))
    assert np.isfinite(result["u"]).all()


@pytest.mark.parametrize("changes", WAYS)
def test_an_interruption_after_the_last_sample_comes_too_late_but_is_told(changes):
    def press_ctrl_c(reached, duration):
        if reached == duration:
            raise KeyboardInterrupt

    scenario = Scenario.load("scara-helix", RUN | changes)
    whole, result = simulate(scenario), simulate(scenario, progress=press_ctrl_c)
    assert (whole.stopped_by_user, result.stopped_by_user) == (False, True)
    assert (result.status, len(result.time)) == ("completed", 11)
    assert result.message == "stopped by the user after the last sample."
    np.testing.assert_array_equal(result["u"], whole["u"])


@pytest.mark.parametrize("changes", [{}, {"timing.control": 0.05}])
def test_an_interruption_in_the_middle_of_a_sample_leaves_only_whole_samples(changes):
    @dc.dataclass(frozen=True)
    class Interrupted(Controller):
        def start(self, task):
            return InterruptedLaw(task)

    class InterruptedLaw(Law):
        def step(self, dynamics, memory):
            return Command(np.zeros(4), memory)

        def signals(self, dynamics, memory):
            if dynamics.snapshot.t > 0.25:
                raise KeyboardInterrupt
            return {"now": Signal(dynamics.snapshot.t, "s", "time")}

    changed = Scenario.load("scara-helix", RUN | changes).replace({"controller": Interrupted()})
    result = simulate(changed)
    assert result.status == "interrupted"
    assert len(result.time) == len(result["u"]) == 3


@dc.dataclass(frozen=True)
class Chattering(Controller):
    def start(self, task):
        return ChatteringLaw(task)


class ChatteringLaw(Law):
    """Dry friction without any smoothing, which no step size follows."""

    calls = 0

    def step(self, dynamics, memory):
        self.calls += 1
        if self.calls > 6000:
            raise KeyboardInterrupt
        return Command(-30.0 * np.sign(dynamics.snapshot.v), memory)


@pytest.mark.parametrize("control", [None, 1e-4], ids=["continuous", "sampled"])
def test_a_stopped_run_that_crawled_says_so_and_what_may_help(control):
    changes = {"timing.control": control} if control else {}
    scenario = Scenario.load("scara-helix", {**RUN, **changes})
    result = simulate(scenario.replace({"controller": Chattering()}))
    assert result.status == "interrupted"
    crawled = re.search(r"down to steps of (\S+) s; try timing\.control, a stiff", result.message)
    assert (crawled is None) == (control is not None)
    assert crawled is None or float(crawled[1]) < 1e-7


def scara_without_its_third_motor():
    kept = [{"kind": "joint", "joint": f"q{k}", "name": f"u{k}"} for k in (1, 2, 4)]
    return Robot.load("scara", override={"actuator": kept})


@pytest.mark.slow
def test_a_task_beyond_the_motors_is_infeasible_and_names_its_rows():
    robot = scara_without_its_third_motor()
    turn = JointFollows(joints=("q1", "q2", "q3"), path=Constant(value=(0.1, 0.5, 0.3)))
    lift = JointFollows(joints=("q4",), path=Constant(value=(0.2,)), name="lift")
    scenario = Scenario.load("scara-helix", RUN).replace({"robot": robot, "servo": (turn, lift)})
    result = simulate(scenario)
    assert result.status == "infeasible"
    assert "joints.q" in result.message
    assert "lift" not in result.message
    found = check(scenario)
    assert found.start.actuation == "under"
    assert found.start.grip.rank == 3
    assert not found.ok


@pytest.mark.slow
def test_least_squares_goes_on_where_the_task_is_infeasible():
    robot = scara_without_its_third_motor()
    turn = JointFollows(joints=("q1", "q2", "q3"), path=Constant(value=(0.1, 0.5, 0.3)))
    scenario = Scenario.load("scara-helix", RUN).replace(
        {
            "robot": robot,
            "servo": (turn,),
            "controller.allocation.on_infeasible": "least_squares",
        }
    )
    result = simulate(scenario)
    assert result.status == "completed"
    assert np.abs(result["reach"]).max() > 1e-3


def test_an_error_beyond_the_monitor_ends_the_run_as_drifted():
    result = simulate(Scenario.load("scara-helix-drift", {"monitor.max_phi": 0.025}))
    assert result.status == "drifted"
    assert 0.0 < result.time[-1] < 20.0
    assert "the monitor allows 2.50e-02" in result.message


def test_a_motion_that_blows_up_is_diverged():
    too_long = {"method": "semi_implicit_euler", "step": 0.5}  # for a frequency of 14 rad/s
    changes = {"integrator": too_long, "timing": {"duration": 60.0, "sample": 0.5}}
    result = simulate(Scenario.load("scara-helix-baumgarte", changes))
    assert result.status == "diverged"
    assert np.isfinite(result["q"]).all()


@dc.dataclass(frozen=True)
class Broken(Controller):
    fault: str = "nan"

    def start(self, task):
        return BrokenLaw(task, self.fault)


class BrokenLaw(Law):
    def __init__(self, task, fault):
        super().__init__(task)
        self.fault = fault

    def step(self, dynamics, memory):
        u = np.zeros(4)
        if dynamics.snapshot.t > 0.35:
            if self.fault == "raises":
                raise RuntimeError("sensor lost")
            u = np.full(4, np.nan) if self.fault == "nan" else np.zeros(3)
        return Command(u, memory)


@pytest.mark.slow(only=["raises-statuses2-RuntimeError: sensor lost-continuous"])
@pytest.mark.parametrize("control", [None, 0.05], ids=["continuous", "sampled"])
@pytest.mark.parametrize(
    ("fault", "statuses", "said"),
    [
        ("nan", {"diverged"}, "controller 'Broken' must return 4 finite inputs; got [nan"),
        ("shape", {"diverged"}, "controller 'Broken' must return 4 finite inputs; got [0. 0. 0.]"),
        ("raises", {"interrupted"}, "RuntimeError: sensor lost"),
    ],
)
def test_a_law_that_fails_ends_the_run_with_its_data(fault, statuses, said, control):
    scenario = Scenario.load("scara-helix", {**RUN, "timing.control": control} if control else RUN)
    result = simulate(scenario.replace({"controller": Broken(fault=fault)}))
    assert result.status in statuses
    assert said in result.message
    assert 3 <= len(result.time) <= 5
    assert np.isfinite(result["q"]).all()


NOTHING, ZERO = np.zeros(0), np.zeros(4)
ODD = {
    "none": (None, "must return a Command; got None"),
    "bare": (ZERO, "must return a Command; got an array of float64"),
    "list": (Command([0.0] * 4, NOTHING), "must return u as an array of floats; got list"),
    "no rate": (Command(ZERO, None), "must return memory_rate as an array of floats; got None"),
    "complex": (Command(1j * ZERO, NOTHING), "floats; got an array of complex128"),
    "signal": (Command(ZERO, NOTHING), "signal 'warmth' of controller 'Odd' must be a Signal"),
}


@dc.dataclass(frozen=True)
class Odd(Controller):
    fault: str = "none"

    def start(self, task):
        return None if self.fault == "no law" else OddLaw(task, self.fault)


class OddLaw(Law):
    def __init__(self, task, fault):
        super().__init__(task)
        self.fault = fault
        if fault == "memory":
            self.memory = [0.0]

    def step(self, dynamics, memory):
        return ODD[self.fault][0]

    def signals(self, dynamics, memory):
        return {"warmth": 3.0}


@pytest.mark.parametrize("control", [None, 0.05], ids=["continuous", "sampled"])
@pytest.mark.parametrize("fault", ODD)
def test_a_law_that_answers_with_the_wrong_type_is_named(fault, control):
    scenario = Scenario.load("scara-helix", {**RUN, "timing.control": control} if control else RUN)
    result = simulate(scenario.replace({"controller": Odd(fault=fault)}))
    assert result.status == "interrupted"
    assert "controller 'Odd'" in result.message
    assert ODD[fault][1] in result.message


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("no law", "start must return a Law; got None"),
        ("memory", "memory must be a one-dimensional array of finite floats; got list"),
    ],
)
def test_a_controller_that_starts_as_no_law_is_an_input_error(fault, said):
    scenario = Scenario.load("scara-helix", RUN).replace({"controller": Odd(fault=fault)})
    with pytest.raises(InputError, match=rf"controller 'Odd': {said}"):
        simulate(scenario)


@spec
class Faulty(InputEffect):
    fault: str = "nan"

    def attach(self, context, rng):
        return None if self.fault == "none" else FaultyDrive(self.fault)


class FaultyDrive(Drive):
    def __init__(self, fault):
        self.fault = fault

    def apply(self, t, u, rate):
        return {"nan": np.nan * u, "shape": u[:1]}[self.fault]


@pytest.mark.parametrize("control", [None, 0.05], ids=["continuous", "sampled"])
@pytest.mark.parametrize("fault", ["nan", "shape"])
def test_an_effect_that_applies_no_input_is_named(fault, control):
    changes = {"timing.control": control} if control else {}
    scenario = Scenario.load("scara-helix", {**RUN, **changes})
    result = simulate(scenario.replace({"effect": [Faulty(fault=fault, name="gear")]}))
    assert result.status == "diverged"
    assert "effect 'gear' must apply 4 finite inputs; got [" in result.message


@spec
class Blind(SensorEffect):
    fault: str = "nan"

    def attach(self, context, rng):
        return BlindSensor(self.fault)


class BlindSensor(Sensor):
    def __init__(self, fault):
        self.fault = fault

    def read(self, t, q, v):
        return {"nan": (q, np.nan * v), "shape": (q[:1], v)}[self.fault]


@pytest.mark.parametrize("control", [None, 0.05], ids=["continuous", "sampled"])
@pytest.mark.parametrize(("fault", "what"), [("nan", "velocities 'v'"), ("shape", "nates 'q'")])
def test_an_effect_that_reads_no_state_is_named(fault, what, control):
    changes = {"timing.control": control} if control else {}
    scenario = Scenario.load("scara-helix", {**RUN, **changes})
    result = simulate(scenario.replace({"effect": [Blind(fault=fault, name="gyro")]}))
    assert result.status == "diverged"
    assert "effect 'gyro' must read 4 finite " in result.message
    assert what in result.message


def test_an_effect_that_attaches_as_nothing_is_an_input_error():
    scenario = Scenario.load("scara-helix", RUN).replace({"effect": [Faulty(fault="none")]})
    with pytest.raises(InputError, match=r"effect\[0\]: attach must return a Drive; got None"):
        simulate(scenario)


@spec
class TooFew(Feedback):
    def attach(self, stack):
        return OneNumber()


class OneNumber(BoundFeedback):
    memory = np.zeros(0)

    def demand(self, rows, memory):
        return np.zeros(1)

    def memory_rate(self, rows, memory):
        return np.zeros(0)


def test_a_feedback_that_asks_for_too_few_rows_is_named():
    scenario = Scenario.load("scara-helix", RUN).replace({"controller": Servo(feedback=TooFew())})
    result = simulate(scenario)
    assert result.status == "diverged"
    assert "'OneNumber' must return a demand of shape (4,); got (1,)" in result.message


def test_a_psi_that_cannot_be_evaluated_ends_the_run_as_diverged():
    scenario = Scenario.load("scara-helix", RUN).replace(
        {"servo": (Expression(phi="sqrt(0.5 - t) * q1"),)}
    )
    result = simulate(scenario)
    assert result.status == "diverged"
    assert result.time[-1] <= 0.5


def test_a_scenario_that_does_not_fit_its_robot_is_an_input_error():
    scenario = Scenario.load("scara-helix", {"servo.tool.frame": "tol"})
    with pytest.raises(InputError, match="no frame named 'tol'; did you mean 'tool'"):
        simulate(scenario)
