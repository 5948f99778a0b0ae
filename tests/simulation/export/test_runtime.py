"""What a hand-over refuses, and what it says of a controller beside a table: each sentence."""

from __future__ import annotations

import dataclasses as dc
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import (
    Command,
    Controller,
    InfeasibleConstraint,
    InputError,
    Law,
    Robot,
    Runtime,
    Scenario,
    UkctrlError,
    replay,
    simulate,
    spec,
)
from ukctrl.mechanics.constraints.contact import MODE, OPEN, SLIDING, STICKING
from ukctrl.robot import Lagrangian
from ukctrl.simulation.effects import Jitter
from ukctrl.simulation.export import export_controller as hand_over_module
from ukctrl.simulation.export.export_controller import export_controller
from ukctrl.simulation.export.ros_trajectory import _number, joint_trajectory
from ukctrl.simulation.export.runtime import Replay


@pytest.fixture(name="sampled", scope="module")
def _sampled():
    timing = {"duration": 0.02, "control": 0.005, "sample": 0.005}
    return Scenario.load("scara-helix", {"timing": timing})


@pytest.fixture(name="run", scope="module")
def _run(sampled):
    return simulate(sampled)


@pytest.fixture(name="table", scope="module")
def _table(sampled, run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("handed")
    return export_controller(sampled, run, folder).folder / "motion.csv"


SAID = [
    (
        Replay(4, 0.0, math.nan, 12.4),
        "4 ticks: every input is the simulated one, bit for bit; 12 us a step.",
    ),
    (Replay(4, 0.25, 0.015, 12.6), "4 ticks: inputs differ by 0.25 at 0.015 s; 13 us a step."),
    (
        Replay(4, math.inf, 0.0, 12.6),
        "4 ticks: some have no inputs, the first at 0 s; 13 us a step.",
    ),
    (Replay(0, 0.0, math.nan, 0.0), "0 ticks: the table has none, and nothing was compared."),
]


@pytest.mark.parametrize(("found", "text"), SAID)
def test_a_controller_beside_a_table_in_a_sentence(found, text):
    assert str(found) == text
    assert found.identical == ("bit for bit" in text)


def changed(table, folder, change):
    """Write a table with its lines changed, and return where."""
    lines = change(table.read_text().splitlines())
    path = folder / "motion.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def with_input(value):
    """Return a change that gives the first input of the third sample a value."""

    def change(lines):
        at = lines[0].split(",").index("u.u1")
        cells = lines[3].split(",")
        cells[at] = value
        return [*lines[:3], ",".join(cells), *lines[4:]]

    return change


@pytest.mark.slow(only=["nan-inf", "inf-inf"])
@pytest.mark.parametrize(("value", "worst"), [("nan", math.inf), ("inf", math.inf), ("1e9", 1e9)])
def test_inputs_that_are_no_numbers_are_never_called_the_same(
    sampled, table, tmp_path, value, worst
):
    found = replay(Runtime(sampled), changed(table, tmp_path, with_input(value)))
    assert (found.ticks, found.at) == (4, pytest.approx(0.01))
    assert found.worst == pytest.approx(worst, rel=1e-6)


def test_a_table_of_something_else_is_refused(sampled, table, tmp_path):
    runtime, missing = Runtime(sampled), tmp_path / "none.csv"
    renamed = changed(table, tmp_path, lambda lines: [lines[0].replace("v.q2", "v.p2"), *lines[1:]])
    cases = {
        missing: f"'{missing}' is not a readable table: [Errno 2] No such file or directory: "
        f"'{missing}'.",
        renamed: f"'{renamed}' must have a column 'v.q2'; it is of another robot, or no table of a "
        "motion.",
    }
    for path, says in cases.items():
        with pytest.raises(UkctrlError) as caught:
            replay(runtime, path)
        assert str(caught.value) == says
    short = changed(table, tmp_path, lambda lines: [*lines[:2], lines[2].rpartition(",")[0]])
    with pytest.raises(UkctrlError, match="is not a readable table: "):
        replay(runtime, short)


@spec
class Blind(Controller):
    """A controller in Python that answers no number."""

    def start(self, task):
        class Answer(Law):
            def step(self, dynamics, memory):
                return Command(np.array([1.0, np.nan, 0.0, 0.0]), np.zeros(0))

        return Answer(task)


def test_an_input_that_is_no_number_is_refused_by_the_loop(sampled):
    runtime = Runtime(dc.replace(sampled, controller=Blind(name="blind")))
    with pytest.raises(UkctrlError) as caught:
        runtime.step(0.0, runtime.robot.neutral, np.zeros(4))
    assert str(caught.value) == (
        "controller 'blind' must return 4 finite inputs; got [ 1. nan  0.  0.] at t = 0 s."
    )


def test_a_tick_that_fails_leaves_the_memory_of_the_last_one_that_did_not():
    scenario = Scenario.load(
        "scara-helix",
        {"controller.use": "servo-pid", "timing.control": 0.001, "timing.sample": 0.001},
    )
    disturbed, smooth = Runtime(scenario), Runtime(scenario)
    q, v = smooth.q, smooth.v + 0.1
    for t in (0.0, 0.001, 0.002):
        assert disturbed.step(t, q, v).tobytes() == smooth.step(t, q, v).tobytes()
    stretched = np.array([0.3, 0.0, 0.0, 0.0])  # a singular position: the tool can move no further
    with pytest.raises(InfeasibleConstraint):
        disturbed.step(0.003, stretched, np.ones(4))
    assert disturbed.memory.tobytes() == smooth.memory.tobytes()
    assert disturbed.memory.any()
    assert disturbed.step(0.004, q, v).tobytes() == smooth.step(0.004, q, v).tobytes()


@pytest.mark.parametrize("kind", [list, tuple, "reversed", "read-only", "float32"])
def test_a_state_of_any_kind_of_numbers_gives_the_same_input(sampled, kind):
    runtime = Runtime(sampled)
    q, v = np.round(runtime.q, 2).astype("f4"), np.zeros(4)  # which both kinds of float hold
    wanted = runtime.step(0.0, q.astype(np.float64), v)
    given = {
        "reversed": q.astype(np.float64)[::-1].copy()[::-1],
        "read-only": np.frombuffer(q.astype(np.float64).tobytes()),
        "float32": q,
    }
    runtime.restart()
    given = given[kind] if isinstance(kind, str) else kind(q.tolist())
    assert runtime.step(np.float32(0.0), given, v).tobytes() == wanted.tobytes()
    with pytest.raises(UkctrlError, match=r"v must be 4 real numbers; got 'abcd'\."):
        runtime.step(0.1, given, "abcd")


def test_an_angle_where_cosine_and_sine_belong_is_refused_at_a_tick():
    runtime = Runtime(Scenario.load("cart-pole-swing-up"))
    q, v = np.array(runtime.q), np.zeros(2)
    wanted = runtime.step(0.0, q, v)
    angle = q.copy()
    angle[1:] = 0.3, 0.0
    with pytest.raises(InputError, match="q: pole_cos, pole_sin must have unit length; got 0.3"):
        runtime.step(0.1, angle, v)
    runtime.restart()
    assert runtime.step(0.0, q, v).tobytes() == wanted.tobytes()


def test_time_that_does_not_grow_is_refused_until_the_task_is_begun_anew(sampled, run):
    runtime = Runtime(sampled)
    q, v = run["q"][0], run["v"][0]
    first = runtime.step(0.0, q, v)
    for t in (0.0, -0.5):
        with pytest.raises(UkctrlError) as caught:
            runtime.step(t, q, v)
        assert str(caught.value) == (
            f"t must grow from call to call; got {t:g} s after 0 s. Call restart() to begin the "
            "task anew."
        )
    runtime.restart()
    np.testing.assert_array_equal(runtime.step(0.0, q, v), first)


PERIOD = (
    "a controller is handed over with the period at which it is called: timing.control and "
    "timing.sample must be equal; got {} and {} s. Give --period, or set both."
)


def test_what_cannot_be_handed_over_is_refused_and_writes_nothing(sampled, run, tmp_path):
    timing = sampled.timing
    bead = Robot.build(Lagrangian(coordinates={"x": "m"}, kinetic="v.x**2/2", inputs={}))
    idle = Scenario(title="a bead", robot=bead, timing=timing)
    empty = dc.replace(run, samples=run.samples.__class__.build(
        np.zeros(0), {}, run.labels, {}), message="it diverged at once.")  # fmt: skip
    cases = [
        (sampled.replace({"timing.control": 0.01}), run, PERIOD.format("0.01", "0.005")),
        (dc.replace(sampled, timing=dc.replace(timing, control=None)), run,
         PERIOD.format("None", "0.005")),
        (dc.replace(sampled, effect=(Jitter(bound=1e-3),)), run,
         "effect 'jitter' moves the ticks away from the samples, so that no table of the run can "
         "be compared; leave it out of what is handed over."),
        (sampled, empty, "the run has no samples to hand over: it diverged at once."),
        (idle, run, f"robot '{bead.name}' must have motors for a controller to be "
         "handed over; it has none."),
    ]  # fmt: skip
    for scenario, result, says in cases:
        with pytest.raises(UkctrlError) as caught:
            export_controller(scenario, result, tmp_path / "out")
        assert str(caught.value) == says
    assert not (tmp_path / "out").exists()


def test_without_a_driven_joint_no_trajectory_is_written_and_an_old_one_does_not_stay(
    sampled, run, tmp_path, monkeypatch
):
    monkeypatch.setattr(hand_over_module, "driven_joints", lambda robot: ())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in ("trajectory.yaml", "motion.parquet"):
        (tmp_path / name).write_text("of an earlier one")
    handed = export_controller(sampled, run, tmp_path)
    assert handed.notes == ("no trajectory.yaml: no motor acts on a joint of one freedom.",)
    assert handed.files == {
        "controller.toml": "the controller and its gains, for --controller",
        "scenario.toml": "what it was designed on",
        "robot": "the files of its robots",
        "controller.py": "the class for your own loop, and its self-check",
        "motion.csv": "states and inputs, 5 rows of 0.005 s",
    }  # and no Parquet file where nothing can write it
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(handed.files)
    assert (
        "    u = loop.step(t, q, v)          # every 0.005 s; reads no file\n"
        in (tmp_path / "controller.py").read_text()
    )


def test_a_trajectory_of_one_sample_is_one_point(sampled, run):
    first = {name: values[:1] for name, values in run.samples.arrays.items()}
    samples = run.samples.__class__.build(run.time[:1], first, run.labels, {})
    one, whole = (
        joint_trajectory(each, Robot.load("scara"))
        for each in (dc.replace(run, samples=samples), run)
    )
    assert one.count("time_from_start") == 1
    assert whole.startswith(one)


def test_a_trajectory_needs_samples_and_a_driven_joint(sampled, run):
    empty = dc.replace(run, samples=run.samples.__class__.build(np.zeros(0), {}, run.labels, {}))
    with pytest.raises(UkctrlError) as caught:
        joint_trajectory(empty, Robot.load("scara"))
    assert str(caught.value) == "the run must have samples for a joint trajectory; it has none."
    with pytest.raises(UkctrlError) as caught:
        joint_trajectory(run, Robot.load("quadrotor"))
    assert str(caught.value) == (
        "robot 'quadrotor' must have a driven joint of one freedom for a joint trajectory; its "
        "motors act on none."
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.5, "1.5"), (1e-05, "1.0e-05"), (1.5e-05, "1.5e-05"), (1e22, "1.0e+22"), (-2.0, "-2.0"),
     (math.inf, ".inf"), (-math.inf, "-.inf"), (math.nan, ".nan")],
)  # fmt: skip
def test_numbers_are_written_so_that_every_reader_of_yaml_takes_them_for_numbers(value, text):
    assert _number(value) == text


def test_states_that_must_not_be_written_are_not_converted(sampled, monkeypatch):
    """As those of a result: what converts lists and columns would cost more than ten ticks."""
    runtime, other = Runtime(sampled), Runtime(sampled)
    q, v = runtime.q.copy(), runtime.v.copy()
    expected = other.step(runtime.t, q, v)
    q.flags.writeable = v.flags.writeable = False
    monkeypatch.setattr(runtime._measured, "_check_shapes", None)
    np.testing.assert_array_equal(runtime.step(runtime.t, q, v), expected)


# Contacts that the bench tells of


class Led:
    """Contacts of a robot that a law believes in: one with friction, one without."""

    def __init__(self, *mu):
        self.mu, self.states = np.array(mu), None

    def copy_modes(self, states):
        self.states = {name: float(state[MODE]) for name, state in states.items()}


def felt(contacts, *mu):
    led = [Led(*mu), Led(*mu)] if mu else []
    Runtime._set_contact_modes(
        SimpleNamespace(_contact_models=led, contacts=("heel", "toe")), contacts
    )
    assert all(each.states == led[0].states for each in led)
    return led[0].states if led else None


def test_contacts_do_what_the_bench_tells_and_smooth_ones_slide_where_they_stand():
    assert felt([0, 1], 0.5, 0.5) == {"heel": OPEN, "toe": SLIDING}
    assert felt([2, 2], 0.5, 0.0) == {"heel": STICKING, "toe": SLIDING}
    assert felt([]) is None


@pytest.mark.parametrize("told", [[0, 3], [0.5, 1], [1], [[0, 1]], [0, np.nan]])
def test_contacts_that_are_told_of_otherwise_are_refused(told):
    with pytest.raises(UkctrlError) as caught:
        felt(told, 0.5, 0.5)
    start = "contacts must be one of 0 (open), 1 (slides) and 2 (sticks) for each of 'heel', 'toe'"
    assert str(caught.value).startswith(f"{start}; got ")


def test_contacts_of_a_robot_without_any_are_refused():
    with pytest.raises(UkctrlError) as caught:
        felt([0])
    assert str(caught.value) == (
        "contacts must be left out: the robot has none that only push (with mu)."
    )
