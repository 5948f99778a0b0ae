"""What is refused beyond the tests of each part: each sentence, whole."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from studies import columns_of

from ukctrl import Robot, Scenario, UkctrlError, classify, plot, simulate
from ukctrl.analysis.linear import linear_loop, linear_plant
from ukctrl.cli.report import parse_map_pairs, parse_requirements
from ukctrl.control.feedback.chen_robust import ChenRobust
from ukctrl.control.regulators.riccati import input_weight
from ukctrl.core.algebra.solution_checks import matrix, symmetric, vector
from ukctrl.core.files.plugins import load_module
from ukctrl.core.files.table_paths import set_path
from ukctrl.core.files.toml import read_toml
from ukctrl.mechanics.integrate.adaptive_integrator import AdaptiveIntegrator
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem
from ukctrl.mechanics.reference.piecewise_polynomial import require_finite
from ukctrl.mechanics.reference.rest_to_rest import check_increasing
from ukctrl.robot import Lagrangian
from ukctrl.simulation.effects import Push, RunContext
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.scenario import IntegratorOptions, StartState
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.comparison.entry import Entry
from ukctrl.studies.journal import require_regular_file
from ukctrl.studies.sweep_analysis.study_arrays import StudyArrays
from ukctrl_laws.fuzzy.fuzzy_gain import Fuzzy, fuzzy_gain, read_fuzzy_gain
from ukctrl_papers.integrability.first_integrals import read_rows
from ukctrl_papers.motion.equation_forms import inverse_by

LAW = ChenRobust(kappa=1.0, rate=5.0, rho=2.0, epsilon=0.02)
FUZZY = "start=0:0.1:0.3, uncertainty=0:0.3:1, horizon=10, price=1e-6"
GIVEN = {"start": Fuzzy(0.0, 0.1, 0.1, 0.3), "uncertainty": Fuzzy(0.0, 0.3, 0.3, 1.0)}
NONE = dict.fromkeys(GIVEN, Fuzzy.crisp(0.0))


def table(**columns):
    plain = {"sample": [0, 1], "seed": 0, "status": "completed", "message": "", "reached": 1.0}
    return columns_of(plain | {"a": [1.0, 2.0], "rms_phi": [1.0, 2.0]} | columns)


@pytest.fixture(name="run", scope="module")
def _run():
    return simulate(Scenario.load("scara-helix", {"timing.duration": 0.02}))


def given_to(name, value):
    return lambda: fuzzy_gain(LAW, **GIVEN, **{"horizon": 1.0, "price": 1.0} | {name: value})


def simulated(name, changes):
    return lambda: simulate(Scenario.load(name, {"timing.duration": 0.01} | changes))


def integrated(rate, method):
    """Integrate a mass from rest for a second."""
    mass = Robot.build(Lagrangian(coordinates=["x"], kinetic="v.x**2/2"))
    rest = IntegratorState(np.zeros(1), np.zeros(1), np.zeros(0))
    system = OdeSystem.from_function(
        lambda t, q, v, memory: (np.array([rate(t, q[0])]), np.zeros(0)), mass, rest
    )
    run = AdaptiveIntegrator(system, mass, method, rtol=1e-6, atol=1e-9, max_step=1.0)
    return lambda: list(run.advance(0.0, rest, 1.0, [1.0]))


def limited(motor):
    limit = {"kind": "bounded", "limit": {motor: 1.0}}
    return simulated("scara-helix", {"controller.allocation": limit})


TIP = {"servo": [{"name": "tip"}]}
REFUSED = [
    # core
    (lambda: matrix("A", [1j]), "A must be real; it is complex."),
    (lambda: matrix("A", [1.0, 2.0]), "A must be a matrix; got shape (2,)."),
    (lambda: vector("b", [[1.0, 2.0]]), "b must be a vector; got shape (1, 2)."),
    (lambda: vector("b", [math.nan, 1.0]), "b must be finite; it has 1 that are not."),
    (lambda: vector("b", ["x"]), "b must be a table of numbers; got \"['x']\"."),
    (lambda: symmetric("R", [[1.0, 2.0], [0.0, 1.0]]), "R must be a symmetric matrix; it is not."),
    (lambda: symmetric("R", [[1.0, 2.0]]), "R must be a symmetric matrix; it is not."),
    (lambda: load_module(Path("nowhere.py")), "no file 'nowhere.py'."),
    (lambda: read_toml(Path("nowhere.toml")), "nowhere.toml: no such file."),
    (
        lambda: set_path(TIP, "servo.tap.x", 1),
        "no entry (in 'servo.tap.x') named 'tap'; did you mean 'tip'? Known: tip.",
    ),
    (
        lambda: set_path(TIP, "servo.1.x", 1),
        "no entry (in 'servo.1.x') named '1'. Known: tip.",
    ),
    (
        lambda: set_path({"limit": 3.0}, "limit.x", 1),
        "'limit.x' cannot be set: there is no table above 'x'.",
    ),
    (
        lambda: set_path({"a": Fuzzy(0.0, 0.1, 0.1, 0.3)}, "a.lo", 1),
        "no field of Fuzzy (in 'a.lo') named 'lo'; did you mean 'low'? Known: {...}",
    ),
    # mechanics
    (
        lambda: inverse_by("svg"),
        "no pseudoinverse method named 'svg'; did you mean 'svd'? Known: {...}.",
    ),
    (lambda: check_increasing([0.0, 1.0, 1.0]), "times must increase; got 1 after 1 at place 2."),
    (
        lambda: check_increasing([-1e308, 1e308]),
        "times must lie closer together; their span overflows.",
    ),
    (
        lambda: require_finite(np.array([[1.0, math.inf]])),
        "must be a slower path: its acceleration overflows.",
    ),
    (
        lambda: read_rows(["d.x + v.x"], ("x",), ("x",), ("v.x",)),
        "in 'd.x + v.x': write differentials (d.x) or velocities (v.x), not both.",
    ),
    (
        lambda: classify(["v.x - 1", "v.x - 2"], ["x", "y"]),
        "no velocity meets all constraints: 'v.x - 2' contradicts the others.",
    ),
    # control
    (limited("u9"), "no motor (in limit) named 'u9'. Known: u1, u2, u3, u4."),
    (
        simulated("cart-pole-swing-up", {"controller": {"kind": "lqr", "q": [0.0]}}),
        "controller.q must have one number a coordinate, 3; got 1.",
    ),
    (
        simulated("three-rrr", {"controller": {"kind": "lqr", "q": [0.3] * 21}}),
        "controller.q must keep the passive constraints; row '{...}",
    ),
    # control
    (given_to("horizon", -1.0), "horizon must be zero or above; got -1."),
    (given_to("horizon", math.nan), "horizon must be zero or above; got nan."),
    (given_to("price", 0.0), "price must be positive; got 0."),
    (given_to("price", math.inf), "price must be positive; got inf."),
    (
        lambda: fuzzy_gain(LAW, **NONE, horizon=1.0, price=1.0),
        "start or uncertainty must be above zero, or every gain is too large.",
    ),
    (
        lambda: fuzzy_gain(
            LAW, **(GIVEN | {"start": Fuzzy(-1.0, 0.0, 0.0, 1.0)}), horizon=1.0, price=1.0
        ),
        "start is a size and must not be negative; got -1:0:0:1.",
    ),
    (
        lambda: read_fuzzy_gain(f"{FUZZY}, price=1", LAW),
        f"--fuzzy must give 'price' once, as price=VALUE; got '{FUZZY}, price=1'.",
    ),
    (
        lambda: read_fuzzy_gain("start=", LAW),
        "--fuzzy must give 'start' once, as start=VALUE; got 'start='.",
    ),
    (
        lambda: read_fuzzy_gain(FUZZY.replace("10", "long"), LAW),
        "--fuzzy: horizon must be a number; got 'long'.",
    ),
    (
        lambda: read_fuzzy_gain(FUZZY.replace("10", "true"), LAW),
        "--fuzzy: horizon must be a number; got 'true'.",
    ),
    (
        lambda: read_fuzzy_gain("begin=1", LAW),
        "no key of --fuzzy named 'begin'. Known: horizon, price, start, uncertainty.",
    ),
    (
        lambda: read_fuzzy_gain("start=0:1:2", LAW),
        "--fuzzy must give start, uncertainty, horizon, price; 'uncertainty' is missing. Such as "
        '"start=0:0.1:0.3, uncertainty=0:0.3:1, horizon=10, price=1e-6".',
    ),
    (
        lambda: input_weight(1.0, SimpleNamespace(inputs=())),
        "a regulator needs a robot with inputs; this one has none.",
    ),
    # simulation
    (lambda: StartState(q=3), "StartState: q: must be a list, or a table by coordinate; got 3."),
    *(
        (
            lambda method=method: IntegratorOptions(method=method),
            f"IntegratorOptions: method '{method}' needs a step; give one, such as step = 1e-3.",
        )
        for method in ("RK4", "semi_implicit_euler")
    ),
    # studies
    (
        lambda: TaskRunner(2, executor=object()),
        "give jobs or an executor, and not both; got 2 and an executor.",
    ),
    (lambda: TaskRunner(0), "jobs must be at least 1; got 0."),
    (lambda: Entry.parse("a=b{x=1"), "entry 'a=b{x=1': the brace '{' is not closed."),
    (lambda: Entry.parse("a{x=1)}"), "entry 'a{x=1)}': ')' closes what was not opened."),
    (lambda: Entry.parse("a{x=[1}"), "entry 'a{x=[1}': ']' is missing."),
    (
        lambda: Entry.parse("a=b{x}"),
        "entry 'a=b{x}': must have KEY=VALUE in its braces; got 'x'.",
    ),
    (lambda: Entry.parse("a=b{x=1,x=2}"), "entry 'a=b{x=1,x=2}': 'x' is given twice."),
    (
        lambda: Entry.parse("=b"),
        "entry '=b': a name before '=' is missing; write NAME=CARD{KEY=VALUE}.",
    ),
    (
        lambda: Entry.parse("a={x=1}"),
        "entry 'a={x=1}': the name of a card is missing; write NAME=CARD{KEY=VALUE}.",
    ),
    (
        lambda: StudyArrays.of(table(), ["a"], "gird"),
        "no design named 'gird'; did you mean 'grid'? Known: grid, random, saltelli, sobol.",
    ),
    (
        lambda: StudyArrays.of(table(), ["a"], "grid").axis("b"),
        "no factor named 'b'. Known: a.",
    ),
    (
        lambda: StudyArrays.of(table(), ["a"], "grid").metric("rms_fi"),
        "no metric named 'rms_fi'; did you mean 'rms_phi'? Known: rms_phi.",
    ),
    (lambda: require_regular_file(Path("/")), "'/' must be a file."),
    # cli
    (
        lambda: parse_requirements(["rms_phi=1", "rms_phi = 2"]),
        "--require gives 'rms_phi' two limits.",
    ),
    *(
        (
            lambda text=text: parse_requirements([text]),
            f"--require must be METRIC=NUMBER, such as rms_phi=1e-3; got '{text}'.",
        )
        for text in ("rms_phi", "=1", "rms_phi=a", "rms_phi=")
    ),
    *(
        (
            lambda text=text: parse_map_pairs([text]),
            f"--map must be two factors, PATH,PATH; got '{text}'.",
        )
        for text in ("a", "a,", ",b", "a,b,c")
    ),
    # robot
    (
        lambda: Robot.load("two_link").site("tol"),
        "no frame named 'tol'; did you mean 'tool'? Known: {...}.",
    ),
    (
        lambda: Robot.load("two_link").structure.dof("elbw"),
        "no joint named 'elbw'; did you mean 'elbow'? Known: elbow, shoulder.",
    ),
    # integrators
    *(
        (
            integrated(lambda t, x: 1.0 if t < 0.5 else math.nan, method),
            "the integrator needs steps below rounding at t = 0.5 s.",
        )
        for method in ("RK45", "DOP853")
    ),
    (
        integrated(lambda t, x: 1.0 if x == 0.0 else math.nan, "Radau"),
        "the equations of motion have no derivative at t = 0 s.",
    ),
    # effects and starts
    (
        lambda: AttachedEffects(
            (Push(frame="world", force=(1.0, 0.0, 0.0), start=0.1, duration=0.1),),
            RunContext(Robot.load("two_link"), 0.0, 1.0, 1e-3),
            0,
        ),
        "effect[0]: frame 'world' does not move; a force there does nothing.",
    ),
    (
        simulated("scara-helix", {"start": {"planned": True}}),
        "start.planned: the controller must follow a motion that is worked out before the run; "
        "'servo-baumgarte' has none. Use kind = 'tvlqr' or 'feedforward', or give the state.",
    ),
]


@pytest.mark.parametrize(("call", "says"), REFUSED)
def test_what_does_not_fit_is_refused_with_what_must_hold(call, says):
    with pytest.raises(UkctrlError) as caught:
        call()
    head, _, _ = says.partition("{...}")
    assert str(caught.value) == says or (head != says and str(caught.value).startswith(head))


def test_what_a_command_gives_is_read():
    assert parse_requirements(["rms_phi = 1e-3", "effort=2"]) == {"rms_phi": 1e-3, "effort": 2.0}
    assert parse_requirements(None) == {}
    assert parse_map_pairs([" a , b.c"]) == [("a", "b.c")]
    assert parse_map_pairs(None) == []


def test_names_that_a_run_has_not_are_refused_with_those_that_it_has(run):
    cases = [
        (lambda: run.metric("rms_fi"), "no metric named 'rms_fi'; did you mean 'rms_phi'? Known: "),
        (lambda: run["phy"], "no variable named 'phy'; did you mean 'phi'? Known: "),
        (lambda: plot.draw(run, "eror"), "no figure named 'eror'; did you mean 'error"),
    ]
    for call, says in cases:
        with pytest.raises(UkctrlError) as caught:
            call()
        assert str(caught.value).startswith(says)


def test_a_plant_and_a_loop_refuse_what_they_have_not():
    scenario = Scenario.load("two-mass-spring")
    with pytest.raises(UkctrlError, match=r"no output named 'x9'\. Known: "):
        linear_plant(scenario, outputs=["x9"])
    loop = linear_loop(scenario.replace({"timing.control": None}))
    with pytest.raises(UkctrlError) as caught:
        loop.delayed(0, 0.1)
    assert str(caught.value) == (
        "a loop must have a hold to have states with a delay; it has none."
    )
