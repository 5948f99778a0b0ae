"""Calls of Python as somebody new writes them: each works, or says in one line what is accepted.

By kinds: states, arrays, scenarios, controllers, references, studies, results.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ukctrl
from ukctrl import (
    Budget,
    Entry,
    Factor,
    Result,
    Robot,
    Runtime,
    Scenario,
    UkctrlError,
    analyze,
    check,
    compare,
    constraints,
    control,
    equilibrium,
    internal_dynamics,
    judge,
    linear_loop,
    linearize,
    record,
    reference,
    replay,
    simulate,
    sweep,
    tune,
    uk,
    write_comparison,
    write_report,
    write_study_report,
    write_tuned,
)  # fmt: skip

CALLS = Path(__file__).with_name("calls")
Q, V = [0.0, -1.0, 2.0, 1.0, 0.0], [0, 0, 0, 0]
NAMES = ("rail", "shoulder", "elbow", "swing_cos", "swing_sin")
ONE = ["servo-pid"]
SCENARIO = "must be a Scenario, its name, or the path of its file; got"


class Tensor:
    """As an array of torch that computes gradients."""

    shape = (5,)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def __len__(self):
        return 5


class Labelled:
    """Numbers with labels, as a Series of pandas has them."""

    def __init__(self, numbers, index=None):
        self.values, self.index = np.array(numbers), index

    @staticmethod
    def of(**entries):
        index = Labelled(np.array([*entries], dtype=object))
        return Labelled([float(number) for number in entries.values()], index)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


@dc.dataclass
class Given:
    """What the calls are made with."""

    robot: Robot
    scenario: Scenario
    result: Result
    folder: Path

    def law(self, function: Any) -> Result:
        """Run the scenario under a law."""
        return simulate(self.scenario.replace({"controller": function}))

    def path(self, function: Any) -> Result:
        """Run the scenario on a path."""
        return simulate(self.scenario.replace({"servo.wrist.path": function}))

    @property
    def runtime(self) -> Runtime:
        """A new one."""
        return Runtime(self.scenario)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    scenario = Scenario.load(CALLS / "base.toml")
    folder = tmp_path_factory.mktemp("calls")
    robot = Robot.load(CALLS / "robots" / "railarm")
    return Given(robot, scenario, simulate(scenario), folder)


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.chdir(CALLS)


Call = Callable[[Given], Any]
WORKS: dict[str, Call] = {
    # states
    "a list": lambda g: g.robot.snapshot(Q, V).M,
    "a table by name": lambda g: g.robot.snapshot(dict(zip(NAMES, Q, strict=True))).q == Q,
    "labels in another order": lambda g: (
        g.robot.snapshot(Labelled.of(shoulder=-1, rail=0, elbow=2, swing_cos=1, swing_sin=0)).q == Q
    ),
    "float32": lambda g: g.robot.snapshot(np.array(Q, dtype=np.float32)).M.dtype == np.float64,
    "whole numbers": lambda g: g.robot.snapshot(np.array([0, -1, 2, 1, 0])).M,
    "a start as an array": lambda g: (
        g.scenario.replace({"start.q": np.array(Q)}).start.q == tuple(Q)
    ),
    "a start with labels": lambda g: (
        g.scenario.replace({"start.q": Labelled.of(elbow=2.0, rail=0.1)}).start.q
        == {"elbow": 2.0, "rail": 0.1}
    ),
    "a tick with labels in another order": lambda g: (
        g.runtime.step(
            0.0,
            Labelled.of(shoulder=-1.15, rail=0.05, elbow=2.3, swing_cos=1, swing_sin=0),
            V,
        )
        == g.runtime.step(0.0, [0.05, -1.15, 2.3, 1, 0], V)
    ),
    "a tick of a list": lambda g: g.runtime.step(0.0, list(g.runtime.q), list(g.runtime.v)),
    "a tick of a row of an array": lambda g: g.runtime.step(
        0.0, np.tile(g.runtime.q, (2, 1)).T[:, 0], V
    ),
    "a point with labels in order": lambda g: (
        reference.Line(start=Labelled.of(x=1, y=2, z=3), end=[0, 0, 0], duration=1.0).start
        == (1.0, 2.0, 3.0)
    ),
    "gains with labels": lambda g: (
        control.PdGravity(kp=Labelled.of(b=1, a=2), kd=np.ones(2)).kp == {"b": 1.0, "a": 2.0}
    ),
    # scenarios
    "simulate a path as text": lambda g: simulate("base.toml").identical(g.result),
    "simulate a Path": lambda g: simulate(Path("base.toml")).identical(g.result),
    "simulate a name": lambda g: simulate("scara-helix-drift").status,
    "check a path": lambda g: check("base.toml").ok == check(g.scenario).ok,
    "check a name": lambda g: check("two-mass-spring").scenario == "two-mass-spring",
    "analyze a path": lambda g: analyze("base.toml").verdict == analyze(g.scenario).verdict,
    "linear_loop of a path": lambda g: linear_loop("base.toml").poles(),
    "internal_dynamics of a path": lambda g: internal_dynamics("base.toml", simulate=False),
    "compare a path": lambda g: compare("base.toml", ONE),
    "tune a path": lambda g: tune("base.toml", 2).tuning.simulations == 2,
    "sweep a path": lambda g: sweep("base.toml", ["seed=1,2"]).done == 2,
    "Runtime of a path": lambda g: Runtime("base.toml").inputs == ("rail", "shoulder", "elbow"),
    "Runtime of a name": lambda g: Runtime("two-mass-spring").inputs,
    "record a path": lambda g: record("base.toml", g.folder / "base.png", size=(64, 64)),
    "record a run": lambda g: record(g.result, g.folder / "run.png", size=(64, 64)),
    "linearize a robot by its name": lambda g: linearize("scara", [0, 0, 0, 0]).A.shape,
    "equilibrium of a robot by its path": lambda g: equilibrium(
        Path(ukctrl.catalog.root()) / "robots" / "scara", np.zeros(4)
    ).shape,
    "a gain as a number of NumPy": lambda g: (
        g.scenario.replace(
            {"controller.feedback.alpha": np.float64(20)}
        ).controller.feedback.alpha == 20.0
    ),
    # controllers
    "compare one name": lambda g: [*compare(g.scenario, "servo-pid").results] == ONE,
    "compare one law": lambda g: compare(
        g.scenario, control.Servo(feedback=control.Baumgarte(alpha=9, beta=20))
    ).completed == ("servo",),
    "compare the path of a card": lambda g: (
        [*compare(g.scenario, Path(ukctrl.catalog.root()) / "controllers/servo-pid.toml").results]
        == ONE
    ),
    "compare an instance, a name and an entry": lambda g: (
        [*compare(g.scenario, [g.scenario.controller, "own", Entry(controller="own", name="x")])
          .results]
        == ["servo-baumgarte", "own", "x"]
    ),
    "compare functions of one name": lambda g: _differ(
        compare(g.scenario, [Entry(controller=_damping(k), name=f"k{k}") for k in (1, 50)])
    ),
    "a controller by the name of its card": lambda g: (
        g.scenario.replace({"controller": "servo-pid"}).controller.name == "servo-pid"
    ),
    "a scenario with the name of a card": lambda g: (
        Scenario(
            title="x", robot="scara", timing={"duration": 1}, servo=g.scenario.servo,
            controller="servo-pid",
        ).controller.name == "servo-pid"
    ),
    "a function as the controller": lambda g: g.law(lambda t, q, v: np.ones(3))["u"] == 1.0,
    "a function that returns a list": lambda g: g.law(lambda t, q, v: [1, 1, 1])["u"] == 1.0,
    "a function that returns a table": lambda g: (
        g.law(lambda t, q, v: {"elbow": 3, "rail": 1, "shoulder": 2})["u"][0] == [1, 2, 3]
    ),
    "a function without servo constraints": lambda g: (
        simulate(
            Scenario(
                title="x", robot="scara", timing={"duration": 0.02},
                controller=lambda t, q, v: -v,
            )
        ).status == "completed"
    ),
    # references
    "a function as the path": lambda g: g.path(lambda t: [0.1 * np.sin(t), 0.6]).status,
    "a function of math as the path": lambda g: g.path(lambda t: (0.1 * math.sin(t), 0.6)).status,
    "a constraint with a function": lambda g: constraints.JointFollows(
        joints=["rail"], path=lambda t: 0.1 * t**2
    ),
    # studies
    "sweep a table": lambda g: sweep(g.scenario, {"believed.mass_scale": [0.8, 1.2]}).done == 2,
    "sweep pairs": lambda g: sweep(g.scenario, [("seed", [1, 2]), "believed.mass_scale=1"]).done,
    "sweep an array": lambda g: (
        sweep(g.scenario, {"believed.mass_scale": np.linspace(0.8, 1.2, 3)}).done == 3
    ),
    "a budget with one constraint": lambda g: (
        Budget(simulations=2, subject_to="peak_u <= 40").subject_to == ("peak_u <= 40",)
    ),
    "sweep one text": lambda g: sweep(g.scenario, "seed=1,2").done == 2,
    "sweep one factor": lambda g: sweep(g.scenario, Factor.parse("seed=1,2")).done == 2,
    # results
    "a number of a result": lambda g: g.result.metric("rms_phi") >= 0.0,
    "a plot": lambda g: g.result.plot("u"),
    "a report in a new folder": lambda g: write_report(g.result, g.folder / "a" / "b").is_file(),
    "a result in a new folder": lambda g: g.result.save(g.folder / "saved"),
}  # fmt: skip


def _damping(k):
    return lambda t, q, v: -k * v[:3]


def _differ(comparison):
    one, another = (run.metric("rms_phi") for run in comparison.results.values())
    return one != another


REFUSED: dict[str, tuple[Call, str]] = {
    # states
    "a coordinate too few": (lambda g: g.robot.snapshot([0, 0, 0, 0]), "q must have shape (5,)"),
    "a column": (lambda g: g.robot.snapshot(np.reshape(Q, (-1, 1))), "q must have shape (5,)"),
    "a batch": (lambda g: g.robot.snapshot(np.tile(Q, (5, 1))), "q must have shape (5,)"),
    "a table of some": (lambda g: g.robot.snapshot({"shoulder": -1}), "q is labelled shoulder; "),
    "other labels": (lambda g: g.robot.snapshot(Labelled.of(a=1, b=2)), "q is labelled a, b; "),
    "texts": (lambda g: g.robot.snapshot(["0", "-60*deg", "2", "1", "0"]), "5 real numbers"),
    "no number": (lambda g: g.robot.snapshot([math.nan, 0, 0, 1, 0]), "q must be finite"),
    "no unit length": (lambda g: g.robot.snapshot([0, 0, 0, 2, 2]), "must have unit length"),
    "complex numbers": (lambda g: g.robot.snapshot(np.array(Q) + 0j), "5 real numbers"),
    "an array with gradients": (lambda g: g.robot.snapshot(Tensor()), "5 real numbers"),
    "None": (lambda g: g.robot.snapshot(None), "q must "),
    "a tick with too few": (lambda g: g.runtime.step(0.0, [0, 0, 0, 0], V), "q must have shape"),
    "a tick with an angle for a cosine": (
        lambda g: g.runtime.step(0.0, [0, -1, 2, 0.3, 0], V), "must have unit length"),
    "a tick with gradients": (lambda g: g.runtime.step(0.0, Tensor(), V), "5 real numbers"),
    "a start of four": (
        lambda g: simulate(g.scenario.replace({"start.q": [0, -1, 2, 0]})), "must have 5 numbers"),
    "a start with the same label twice": (
        lambda g: g.scenario.replace({"start.q": _twice()}), "labels of their own; got rail, rail"),
    "a start that is one number": (
        lambda g: g.scenario.replace({"start.q": 3.0}), "must be a list, or a table by coordinate"),
    "a point with labels in another order": (
        lambda g: reference.Line(start=Labelled.of(z=1, x=2, y=3), end=[0, 0, 0], duration=1.0),
        "numbers labelled z, x, y"),
    "a frame with a typing error": (
        lambda g: g.robot.snapshot(Q).frame("wirst"), "did you mean 'wrist'?"),
    # arrays
    "shapes that differ": (
        lambda g: uk.affine_acceleration(M=np.eye(3), Q=[1, 2], B=np.eye(3)), "M must have shape"),
    "M that is not square": (
        lambda g: uk.affine_acceleration(M=np.ones((2, 3)), Q=[1, 2], B=np.eye(2)), "M must be"),
    "M that is indefinite": (
        lambda g: uk.affine_acceleration(M=np.diag([1, -1]), Q=[1, 2], B=np.eye(2)), "positive"),
    "B as a vector": (
        lambda g: uk.affine_acceleration(M=np.eye(2), Q=[1, 2], B=[1, 0]), "B must be a matrix"),
    "b as a column": (
        lambda g: uk.servo_input(A=[[1, 1]], b=[[0]], a_free=[1, 2], G=np.eye(2)), "b must be a v"),
    "A as a vector": (
        lambda g: uk.servo_input(A=[1, 1], b=[0], a_free=[1, 2], G=np.eye(2)), "A must be a matr"),
    "what no input gives": (
        lambda g: uk.servo_input(A=np.eye(2), b=[0, 1], a_free=[1, 2], G=[[1], [0]]), "row 1"),
    # scenarios
    "a path that is none": (lambda g: simulate("bsae.toml"), "did you mean 'base.toml'?"),
    "a name that is none": (lambda g: check("scara-helx"), "did you mean 'scara-helix'?"),
    "the name of a robot": (lambda g: simulate("scara"), "that is the name of a robot"),
    "a key with a typing error": (
        lambda g: g.scenario.replace({"timing.duraton": 1}), "did you mean 'duration'?"),
    "load a table": (lambda g: Scenario.load({"title": "x"}), "must be its name or path; got a d"),
    "load no robot": (lambda g: Robot.load(None), "to a robot must be its name or path; got None"),
    "nothing at all": (lambda g: Scenario(), "title: is missing"),
    "record a number": (lambda g: record(3, g.folder / "x.png"), f"recorded {SCENARIO} 3"),
    "linearize a scenario": (lambda g: linearize(g.scenario, Q), "robot must be a Robot, its name"),
    "equilibrium of a typing error": (lambda g: equilibrium("scra", Q), "did you mean 'scara'?"),
    # controllers
    "compare a class": (
        lambda g: compare(g.scenario, [control.PdGravity]), "got the class PdGravity; write PdG"),
    "compare a number": (lambda g: compare(g.scenario, 3), "controllers must be a list, each the"),
    "compare numbers": (lambda g: compare(g.scenario, [3]), "entry must be the name or path of"),
    "compare a typing error": (
        lambda g: compare(g.scenario, "servo-pdi"), "did you mean 'servo-pid'?"),
    "a class as the controller": (
        lambda g: g.scenario.replace({"controller": control.PdGravity}), "got the class PdGravity"),
    "a number as the controller": (
        lambda g: g.scenario.replace({"controller": 3}), "must be a table, such as { use ="),
    "gains of another count": (
        lambda g: g.law(control.PdGravity(kp=[1, 2], kd=[1, 2])), "one number a row, 4; got 2"),
    "a gain below zero": (lambda g: control.Baumgarte(alpha=-2, beta=1), "zero or positive"),
    # references
    "a function of other size": (
        lambda g: g.path(lambda t: [0, 0, 0]), "got 3. Hold all of"),
    "a function that returns text": (
        lambda g: g.path(lambda t: "x"), "must return a list of numbers; got 'x'"),
    "a function that returns nothing": (
        lambda g: g.path(lambda t: None), "must return a list of numbers; got None"),
    "a function that fails": (
        lambda g: g.path(lambda t: [1 / 0, t]), "failed: ZeroDivisionError: division by zero"),
    "a class as the path": (
        lambda g: g.path(reference.Circle), "got the class Circle; write Circle(...)"),
    "an array as the path": (
        lambda g: constraints.PointFollows(frame="wrist", path=np.zeros((9, 3))), "path: needs ki"),
    # studies
    "a budget that is a controller": (
        lambda g: tune(g.scenario, "servo-pid"), "budget must be a Budget, or a number"),
    "a budget of nothing": (lambda g: tune(g.scenario, 0), "at least 1 simulation; got 0"),
    "a budget as text": (lambda g: Budget(simulations="4"), "simulations must be int; got '4'"),
    "a budget by another name": (
        lambda g: Budget(evaluations=4), "Budget has no argument 'evaluations'"),
    "changes of an entry": (
        lambda g: Entry(controller="own", changes=3), "changes must be Mapping[str, object]; got"),
    "a factor by number": (lambda g: Factor(3, 4), "path must be str; got 3"),
    "a law without gains": (
        lambda g: tune(g.scenario.replace({"controller": _damping(1)}), 2), "has no gains to tune"),
    "sweep a number": (lambda g: sweep(g.scenario, 3), "factors must be a list, each a Factor"),
    "sweep numbers": (lambda g: sweep(g.scenario, [3]), "a factor must be a Factor, a text such"),
    "sweep one value": (lambda g: sweep(g.scenario, {"seed": 3}), "the values of 'seed' must be"),
    "sweep a typing error": (
        lambda g: sweep(g.scenario, {"timing.contrl": [0.01]}), "did you mean 'control'?"),
    # results
    "a metric with a typing error": (
        lambda g: g.result.metric("rms_fi"), "did you mean 'rms_phi'?"),
    "a quantity with a typing error": (lambda g: g.result["uu"], "did you mean 'u'?"),
    "a plot of a joint": (lambda g: g.result.plot("rail"), "no quantity or figure named 'rail'"),
    "the report of a scenario": (
        lambda g: write_report(g.scenario, g.folder), "must be a Result, which simulate ret"),
    "the verdicts of a scenario": (lambda g: judge(g.scenario), "got a Scenario"),
    "the comparison of a scenario": (
        lambda g: write_comparison(g.scenario, g.folder), "must be a Comparison, which compare"),
    "the study of a result": (
        lambda g: write_study_report(g.result, g.folder), "must be a Study, which sweep returns"),
    "the tuning of a scenario": (
        lambda g: write_tuned(g.scenario, g.folder), "must be a Tuned, which tune returns"),
    "the replay of a scenario": (
        lambda g: replay(g.scenario, g.folder / "motion.csv"), "runtime must be a Runtime, made"),
    "changes by keywords": (
        lambda g: g.scenario.replace(duration=1), "has no argument 'duration'"),
    "changes as text": (
        lambda g: Scenario.load("base.toml", "seed=1"), "changes must be Mapping[str, object] | N"),
    "changes as pairs": (
        lambda g: g.scenario.replace([("seed", 1)]), "changes must be Mapping[str, object]; got a"),
    "a keyword of the file": (
        lambda g: simulate(g.scenario, duration=1.0), "simulate has no argument 'duration'"),
    "an argument too few": (
        lambda g: equilibrium(g.robot), "equilibrium: missing a required argument: 'q'"),
    "a robot by name beside a scenario": (
        lambda g: simulate(g.scenario, robot="scara"), "robot must be Robot | None; got 'scara'"),
    "repeats as text": (
        lambda g: compare(g.scenario, "own", repeats="3"), "repeats must be int | None; got '3'"),
    "one mismatch": (
        lambda g: compare(g.scenario, "own", mismatch=0.1), "mismatch must be Sequence[float |"),
    "a front of one": (
        lambda g: compare(g.scenario, "own", front="effort"), "front must be Front | tuple[str,"),
    "a bandwidth as a number": (
        lambda g: compare(g.scenario, "own", equal=60), "must be ErrorSpec; got 60"),
    "points as text": (
        lambda g: sweep(g.scenario, "seed=1,2", n="3"), "n must be int | None; got '3'"),
    "a place that is none": (lambda g: analyze(g.scenario, "strt"), "at must be 'start', a time"),
    "a time as text": (lambda g: g.runtime.step("0", Q, V), "t must be a number [s]; got '0'"),
    "a folder that is a number": (lambda g: g.result.save(3), "directory must be a path; got 3"),
    "a file that is a number": (lambda g: record(g.result, 3), "path must be a path; got 3"),
    "a metric by number": (lambda g: g.result.metric(3), "no metric named '3'"),
    "a figure of a scenario": (
        lambda g: ukctrl.check_figure(g.scenario), "got a Scenario"),
    "a robot of a number": (lambda g: Robot.build(3), "got 3"),
    "a result that is none": (lambda g: Result.load(g.folder / "no"), "no result at"),
}  # fmt: skip


def _twice():
    series = Labelled.of(rail=1, elbow=2)
    series.index.values[:] = "rail"
    return series


@pytest.mark.parametrize("name", WORKS)
def test_a_natural_call_works(name, given):
    assert np.all(WORKS[name](given))


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_cannot_be_is_refused_in_one_line(name, given):
    call, says = REFUSED[name]
    with pytest.raises(UkctrlError) as refusal:
        call(given)
    text = str(refusal.value)
    assert says in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "function",
    [simulate, check, compare, tune, analyze, sweep, Runtime, linear_loop, internal_dynamics],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize(
    "wrong",
    [None, 3, 2.5, b"x", {}, [], object(), Scenario, simulate],
    ids=lambda value: repr(value)[:9],
)
def test_what_is_no_scenario_is_named_in_one_line(function, wrong):
    more = {tune: (Budget(simulations=2),), sweep: (["seed=1"],)}.get(function, ())
    with pytest.raises(UkctrlError) as refusal:
        function(wrong, *more)
    assert f"scenario {SCENARIO}" in str(refusal.value)
    assert isinstance(refusal.value, TypeError)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            lambda t, q, v: np.zeros(2),
            "must return 3 numbers, rail, shoulder, elbow; got array(",
        ),
        (lambda t, q, v: None, "must return 3 numbers, rail, shoulder, elbow; got None"),
        (lambda t, q, v: {"elbow": 0.0}, "rail, shoulder, elbow; got elbow"),
        (lambda t, q, v: "up", "rail, shoulder, elbow; got 'up'"),
        (lambda t, q, v: [1 / 0] * 3, "failed: ZeroDivisionError: division by zero"),
        (lambda t, q, v: {}["gain"], "failed: KeyError: 'gain'"),
        (lambda t, q: q, "failed: TypeError: "),
    ],
)
def test_a_run_whose_function_returns_no_input_says_so(answer, says, given):
    with pytest.raises(UkctrlError) as refused:
        given.law(answer)
    assert says in str(refused.value)
    # later there is a run to keep
    later = given.law(lambda t, q, v: answer(t, q, v) if t > 0.0 else np.zeros(3))
    assert later.status == "diverged"
    assert says in later.message


def test_a_run_whose_function_returns_no_finite_input_has_diverged(given):
    run = given.law(lambda t, q, v: [math.nan] * 3)
    assert run.status == "diverged"
    assert "must return 3 finite inputs; got [nan nan nan]" in run.message


def test_an_attribute_that_a_result_has_not_says_how_it_is_written(given):
    with pytest.raises(AttributeError, match=r"no attribute 'u'; write result\['u'\]"):
        given.result.u  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'metrcs'; did you mean 'metrics'\?"):
        given.result.metrcs  # noqa: B018
    assert not hasattr(given.result, "to_dataframe")
