"""What the terminal shows of parts, robots and analyses, and how far work is."""

from __future__ import annotations

import cmath
import itertools
import math
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from printed_lines import plain, styles
from rich.progress import TextColumn

from ukctrl.analysis.check import check_report
from ukctrl.analysis.check.robot_check import JointCheck, MotorCheck, RobotCheck
from ukctrl.analysis.conformance.clauses import Conformance
from ukctrl.analysis.linear import Design, HiddenMode, LargestPeriod
from ukctrl.analysis.linear.linear_law import ActiveSet
from ukctrl.analysis.linear.margins import Margins
from ukctrl.cli.terminal import check_text, progress_bars
from ukctrl.cli.terminal.analyze_text import analysis_data, analysis_lines
from ukctrl.cli.terminal.check_text import robot_lines
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import is_plain
from ukctrl.cli.terminal.summaries import conformance_lines
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.robot.model_audit import ModelDiagnostic

NAN, INF = math.nan, math.inf


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")


# A part, a robot, an analysis


def test_clauses_that_do_not_hold_say_what_came():
    good = SimpleNamespace(ok=True, sentence="It holds.", detail="never shown")
    bad = SimpleNamespace(ok=False, sentence="It does not.", detail="got 3")
    lines = conformance_lines([
        Conformance("feedback", "mine", (good,)), Conformance("allocation", "other", (good, bad)),
    ])  # fmt: skip
    assert plain(lines) == [
        "mine (feedback): conforms", "  ok  It holds.", "other (allocation): does not conform",
        "  ok  It holds.", "  NO  It does not.", "      got 3",
    ]  # fmt: skip
    found = styles(lines)
    assert (found["conforms"], found["does not conform"]) == ("bold green", "bold red")
    assert (found["NO"], found["ok"]) == ("bold red", "green")


def joint(**given):
    usual = {"name": "q", "unit": "rad/s", "lower": -1.0, "upper": 2.0, "fastest": 3.0,
             "motors": ("m",), "effort": 4.0, "mass": 5.0, "moments": (0.1, 0.25)}  # fmt: skip
    return JointCheck(**{**usual, **given})


def robot(*joints, **given):
    usual = {"robot": "arm", "freedoms": 3, "mobility": 2, "mass": 12.0, "frames": ("tool",),
             "findings": (), "missing": (), "scenario": 'robot = "arm"\n\nx = 1\n'}  # fmt: skip
    joints = joints or (joint(),)
    names = dict.fromkeys(name for each in joints for name in each.motors)
    motors = tuple(MotorCheck(name, "N m", "q", -4.0, 4.0) for name in names)
    usual |= {"motors": motors, "loops": (), "readings": ()}
    return RobotCheck(joints=joints, **{**usual, **given})


def test_what_is_printed_of_a_robot():
    lines = robot_lines(robot())
    text = plain(lines)
    assert text[0] == "arm: nothing odd"
    assert styles(lines)["nothing odd"] == "bold green"
    assert "  freedoms  3, mobility 2, motors: 1" in text
    assert "  mass      12 kg" in text
    assert "  frames    tool" in text
    assert "Next: save this as first.toml, then ukctrl check first.toml" in text
    assert text[-3:] == ['    robot = "arm"', "", "    x = 1"]
    beside = plain(robot_lines(robot(), Path("there")))
    assert beside[:-3] == text
    assert beside[-2:] == ["report  there/report.html", "data    there/check.json"]
    joints = [line.split("  ") for line in text if line.startswith("  q")]
    assert [part.strip() for part in joints[0] if part.strip()] == [
        "q", "-1 to 2 rad", "3 rad/s", "m", "4 N m", "5 kg", "0.1, 0.25 kg m^2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"unit": "m/s"}, ["-1 to 2 m", "3 m/s", "m", "4 N", "5 kg", "0.1, 0.25 kg m^2"]),
        ({"lower": -INF}, ["... to 2 rad", "3 rad/s", "m", "4 N m", "5 kg", "0.1, 0.25 kg m^2"]),
        ({"upper": INF}, ["-1 to ... rad", "3 rad/s", "m", "4 N m", "5 kg", "0.1, 0.25 kg m^2"]),
        ({"lower": -INF, "upper": INF, "fastest": INF, "effort": INF, "motors": ()},
         ["free", "-", "none", "-", "5 kg", "0.1, 0.25 kg m^2"]),
        ({"mass": NAN}, ["-1 to 2 rad", "3 rad/s", "m", "4 N m"]),
        ({"damping": 0.5, "armature": 0.02},
         ["-1 to 2 rad", "3 rad/s", "m", "4 N m", "5 kg", "0.1, 0.25 kg m^2", "0.5 N m s/rad",
          "0.02 kg m^2"]),
        ({"friction": 0.5, "unit": "m/s"},
         ["-1 to 2 m", "3 m/s", "m", "4 N", "5 kg", "0.1, 0.25 kg m^2", "0.5 N"]),
        ({"moments": ()}, ["-1 to 2 rad", "3 rad/s", "m", "4 N m"]),
        ({"motors": ("a", "b")},
         ["-1 to 2 rad", "3 rad/s", "a, b", "4 N m", "5 kg", "0.1, 0.25 kg m^2"]),
    ],
)  # fmt: skip
def test_what_is_printed_of_a_joint(given, shown):
    line = next(line for line in plain(robot_lines(robot(joint(**given)))) if line[:4] == "  q ")
    assert [part.strip() for part in line[3:].split("  ") if part.strip()] == shown


def test_findings_of_a_robot_stand_by_their_weight():
    findings = (
        ModelDiagnostic("note", "a", "b", "it is so."), ModelDiagnostic("warning", "a", "b",
        "it is odd."),
        ModelDiagnostic("error", "a", "b", "it is wrong."),
    )  # fmt: skip
    lines = robot_lines(robot(findings=findings, missing=("limits of q.",), mass=NAN, frames=()))
    text = plain(lines)
    assert text[:4] == ["arm: warnings", "warning: it is odd.", "error: it is wrong.", ""]
    assert text.index("missing: limits of q.") < text.index("note: it is so.")
    assert not any(line.startswith(("  mass", "  frames")) for line in text)
    assert styles(lines)["error:"] == "red"
    only = plain(robot_lines(robot(findings=findings[:1])))
    assert only[0] == "arm: nothing odd"
    two = joint(motors=("m",)), joint(name="p", motors=("m", "n"))
    assert "  freedoms  3, mobility 2, motors: 2" in plain(robot_lines(robot(*two)))
    bare = plain(robot_lines(robot(joint(motors=()))))
    assert "  freedoms  3, mobility 2, motors: none" in bare


def test_of_many_frames_the_last_are_named():
    def frames(count):
        lines = plain(robot_lines(robot(frames=tuple(f"f{k}" for k in range(count)))))
        return next(line for line in lines if line.startswith("  frames")).split("    ")[1]

    assert frames(12) == ", ".join(f"f{k}" for k in range(12))
    assert frames(14) == "2 more, ..., " + ", ".join(f"f{k}" for k in range(2, 14))


def margins(name, disk=0.5):
    return Margins(
        motor=name, gain_low=0.5, gain_high=2.0, gain_frequency=1.0, phase=30.0,
        phase_frequency=2.0, delay=0.25, disk=disk, disk_frequency=3.0,
    )  # fmt: skip


def analysed(**given):
    point = SimpleNamespace(source="the start", q=np.zeros(2), u=np.ones(1))
    plant = SimpleNamespace(
        point=point, A=np.zeros((4, 4)), inputs=("u",), outputs=("y", "z"),
        poles=lambda: np.array([-1.0 + 2.0j, -1.0 - 2.0j, 3.0, -5.0]),
    )  # fmt: skip
    loop = SimpleNamespace(
        active=ActiveSet(),
        period=0.01,
        delay=0.02,
        A=np.zeros((6, 6)),
        rates=lambda: np.array([-2.0, -2.0, -4.0]),
    )
    usual = {
        "scenario": "s", "robot": "r", "controller": "c", "plant": plant, "loop": loop,
        "zeros": np.array([]), "unreached": (), "unseen": (), "margins": (), "disk": None,
        "notes": (), "stability": "stable", "verdict": "stable: by far.",
        "to_dict": lambda: {"scenario": "s"},
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **given})


def test_what_is_printed_of_an_analysis():
    lines = analysis_lines(analysed(), Path("out"))
    assert plain(lines) == [
        "s: stable: by far.",
        "  robot          r, controller c",
        "  point          the start",
        "  plant          states: 4, motors: 1, rows: 2",
        "  poles          3, -1 +- 2j, -5 1/s",
        "  zeros          none",
        "  loop           6 states, held for 0.01 s, 0.02 s late",
        "  loop poles     -2 (2 of them), -4 1/s",
        "report  out/analysis.html",
        "data    out/analysis.json",
    ]
    assert styles(lines)["stable: by far."] == "bold green"
    open_loop = plain(analysis_lines(analysed(loop=None, stability=None), Path("out")))
    assert not any(line.startswith("  loop") for line in open_loop)
    continuous = analysed()
    continuous.loop.period, continuous.loop.delay = None, 0.0
    assert "  loop           6 states" in plain(analysis_lines(continuous, Path("out")))


def test_more_of_an_analysis_is_printed_where_there_is_more():
    mode = HiddenMode(1.0 - 2.0j, 2, "q1, q2")
    rests = [SimpleNamespace(family=2, point=SimpleNamespace(q=np.zeros(1), u=np.ones(1)),
                             distance=0.5) for _ in range(3)]  # fmt: skip
    design = Design(
        terms=ErrorSpec(settling=2.0, damping=0.7), gains={"a.b": 3.0}, notes=("Mind it.",)
    )
    found = analysed(unreached=(mode,), unseen=(mode,), disk=0.75, margins=(margins("m"),),
                     notes=("It is so.",))  # fmt: skip
    period, card = LargestPeriod(0.0125, 0.0126, 0.4), Path("my.toml")
    text = plain(analysis_lines(found, Path("out"), rests, design, period, card))
    assert (
        "  point          the start, one of a family of 2 directions; 2 more further away" in text
    )
    assert "  uncontrollable 2 with s = 1 +- 2j 1/s, in q1, q2" in text
    assert "  unobservable   2 with s = 1 +- 2j 1/s, in q1, q2" in text
    assert "  all motors     disk margin 0.75" in text
    assert "  longest hold   0.0125 s keeps a disk margin of 0.4; beyond it is lost" in text
    assert "  gains          for settling in 2 s with damping 0.7:" in text
    assert "    --set a.b=3" in text
    assert "  card           my.toml" in text
    assert [line for line in text if line.startswith("note")] == ["note: It is so.",
                                                                  "note: Mind it."]  # fmt: skip
    assert any(line.split()[:4] == ["m", "0.5", "to", "2"] for line in text)
    alone = rests[:1]
    alone[0].family = 0
    text = plain(analysis_lines(found, Path("out"), alone, None, period._replace(disk=0.0)))
    assert "  point          the start" in text
    assert "  longest hold   0.0125 s keeps stability; beyond it is lost" in text
    assert analysis_data(found, rests, design, period, card) == {
        "scenario": "s",
        "equilibria": [{"q": [0.0], "u": [1.0], "family": rests[k].family, "distance": 0.5}
                       for k in range(3)],
        "design": {"settling": 2.0, "damping": 0.7, "gains": {"a.b": 3.0}, "set": ["a.b=3"],
                   "notes": ["Mind it."], "card": "my.toml"},
        "longest_period": {"period": 0.0125, "beyond": 0.0126, "disk": 0.4},
    }  # fmt: skip
    assert analysis_data(found, (), None, None) == {"scenario": "s", "equilibria": []}
    assert analysis_data(found, (), design, None)["design"]["card"] is None


def test_of_many_motors_those_with_least_margin_are_printed():
    every = [margins(f"m{k}", disk=1.0 / (k + 1)) for k in range(14)]
    text = plain(analysis_lines(analysed(margins=tuple(every)), Path("out")))
    named = [line.split()[0] for line in text if line.startswith("  m") and " to " in line]
    assert named == [f"m{k}" for k in range(2, 14)]
    assert "  and 2 motors with more, in the files" in text


@pytest.mark.parametrize(
    ("poles", "text"),
    [
        ([], "none"),
        ([-1.0, -1.0005], "-1 (2 of them) 1/s"),
        ([-1.0, -1.01], "-1, -1.01 1/s"),
        ([-1 + 1j, -1 - 1j, -1 + 1j, -1 - 1j], "-1 +- 1j (2 pairs) 1/s"),
        ([-2.0, cmath.inf], "-2 1/s, 1 deadbeat"),
        ([float(-k) for k in range(1, 15)], f"{', '.join(f'-{k}' for k in range(1, 13))}, and 2 "
                                            "more 1/s"),
    ],
)  # fmt: skip
def test_poles_are_printed_together_where_they_are_alike(poles, text):
    found = analysed()
    found.plant.poles = lambda: np.array(poles, dtype=complex)
    found.plant.inputs = ()
    line = next(line for line in plain(analysis_lines(found, Path("out"))) if "  poles" in line)
    assert line == f"  poles          {text}"


@pytest.mark.parametrize(
    ("percent", "text"),
    [(12.4, "12 %"), (999.4, "999 %"), (1000.0, "10 times"), (2500.0, "25 times")],
)
def test_a_share_of_a_limit_is_told_as_one_reads_it(percent, text):
    assert check_report.share_text(percent) == text


def test_what_is_left_out_is_counted():
    assert check_text._count_line(0) == []
    assert plain(check_text._count_line(2)) == ["  and 2 more that --json lists"]


# How far work is


class Terminal:
    encoding = "utf-8"

    def __init__(self, tty):
        self.tty, self.text, self.waiting = tty, "", False

    def isatty(self):
        return self.tty

    def write(self, text):
        self.text += text
        self.waiting = True
        return len(text)

    def flush(self):
        self.waiting = False


@pytest.fixture(name="bar")
def _bar(monkeypatch):
    """Record what a bar is drawn with, in a terminal whose time is said."""
    drawn, made = [], []

    class Bar:
        live = SimpleNamespace(is_started=False)

        def __init__(self, *columns, **given):
            made.append((columns, given))

        def add_task(self, title, **given):
            made.append(title)
            return 0

        def update(self, task, **given):
            drawn.append(given)

        def start(self):
            drawn.append("start")
            self.live.is_started = True

        def stop(self):
            drawn.append("stop")

        def __enter__(self):
            self.start()

        def __exit__(self, *error):
            self.stop()

    monkeypatch.setattr("rich.progress.Progress", Bar)
    clock = itertools.count()
    monkeypatch.setattr(progress_bars.time, "perf_counter", lambda: 0.6 * next(clock))

    def terminal():  # each part of a test has a standard error of its own
        monkeypatch.setattr(sys, "stderr", Terminal(True))
        return drawn, made

    return terminal


def test_a_bar_comes_late_and_tells_how_long_the_rest_takes(bar):
    drawn, made = bar()
    with progress_bars.progress_bar("aaa bbb " + "c" * 30, False, "plants") as progress:
        for done in range(5):
            progress(done, 10)
    assert made[1] == "aaa bbb ..."
    assert drawn[0]["completed"] == 1  # nothing within the first second
    assert "start" in drawn
    assert drawn[-1] == "stop"
    told = [each for each in drawn if isinstance(each, dict)]
    assert [each["completed"] for each in told] == [1, 2, 3, 4]
    assert {each["total"] for each in told} == {10}
    assert told[-1]["told"] == "4.0 of 10 plants 4 s left"  # six more at 0.6 s


def test_a_plan_and_the_run_that_follows_it_are_told_apart(bar):
    drawn, _ = bar()
    with progress_bars.run_progress("run", False) as (progress, planning):
        for done in range(4):
            planning(done, 10.0)
        for done in range(2):
            progress(done, 10.0)
    told = [each["told"] for each in drawn if isinstance(each, dict)]
    assert told[:2] == ["1.0 of 10.0 s planned", "2.0 of 10.0 s planned 5 s left"]
    assert told[-1] == "1.0 of 10.0 s"  # the run's own speed is not known yet


def test_a_sweep_tells_what_failed(bar):
    drawn, made = bar()
    with progress_bars.sweep_progress("sweep", False) as progress:
        for done in range(4):
            progress(SimpleNamespace(done=done, total=10, finished=done, failed=1))
    told = [each["told"] for each in drawn if isinstance(each, dict)]
    assert told[-1].startswith("3 of 10, 1 failed, 1.67/s, ")
    assert made[0][1]["expand"] is True


@pytest.mark.parametrize(
    ("make", "arguments"),
    [(progress_bars.progress_bar, ("title", False)), (progress_bars.run_progress, ("title", False)),
     (progress_bars.sweep_progress, ("title", False)), (progress_bars.spinner, (False,))],
)  # fmt: skip
def test_what_a_bar_says_is_no_markup(make, arguments, bar):
    """A title from a file of a stranger, and what is told beside it, stand there as they are."""
    _, made = bar()
    with make(*arguments):
        pass
    assert made[0][1]["transient"] is True  # nothing of it is left, and none of it in a pipe
    assert made[0][1]["console"].stderr is True
    words = "[red]arm[/red] [/] \\[b]"
    task = SimpleNamespace(description=words, completed=1.0, total=2.0, fields={"told": words})
    columns = [column for column in made[0][0] if isinstance(column, TextColumn)]
    assert columns
    for column in columns:
        assert words in column.render(task).plain
        assert not column.render(task).spans


@pytest.mark.parametrize("make", [progress_bars.progress_bar, progress_bars.run_progress,
                                  progress_bars.sweep_progress])  # fmt: skip
@pytest.mark.parametrize("where", ["hidden", "pipe", "nowhere"])
def test_nothing_is_drawn_where_nobody_looks(make, where, bar, monkeypatch):
    drawn, made = bar()
    monkeypatch.setattr(sys, "stderr", None if where == "nowhere" else Terminal(where == "hidden"))
    with make("title", where == "hidden") as progress:
        for told in progress if isinstance(progress, tuple) else (progress,):
            told(*([SimpleNamespace(done=1, total=2, finished=1, failed=0)]
                   if make is progress_bars.sweep_progress else [1.0, 2.0]))  # fmt: skip
    assert drawn == []
    assert made == []


@pytest.mark.parametrize(("hidden", "tty", "shown"), [(False, True, True), (True, True, False),
                                                      (False, False, False)])  # fmt: skip
def test_what_is_being_computed_is_said_on_one_line(hidden, tty, shown, monkeypatch):
    said = []

    class Line:
        def __init__(self, *columns, **given):
            pass

        def add_task(self, title, **given):
            return 0

        def update(self, task, description):
            said.append(description)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

    monkeypatch.setattr("rich.progress.Progress", Line)
    monkeypatch.setattr(sys, "stderr", Terminal(tty))
    monkeypatch.setenv("COLUMNS", "40")
    with progress_bars.spinner(hidden) as show_words:
        show_words("one two three four five six seven")
    assert said == (["one two three four ..."] if shown else [])


@pytest.mark.parametrize(
    ("variable", "value", "plain"),
    [("NO_COLOR", "1", True), ("NO_COLOR", "", False), ("TERM", "dumb", True),
     ("TERM", "unknown", True), ("TERM", "xterm", False)],
)  # fmt: skip
def test_a_plain_terminal_is_asked_for_by_its_variables(variable, value, plain, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.setenv(variable, value)
    assert is_plain() is plain


def test_in_a_plain_terminal_a_line_is_written_over_itself(monkeypatch):
    """Blanks cover what a longer line before has left, and nothing stays at the end."""
    terminal = Terminal(True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    with progress_bars._plain_line("a run") as show_line:
        show_line(1.0, 2.0, "one two")
        assert not terminal.waiting  # a line without an end would be held back
        show_line(1.0, 2.0, "one")
        show_line(1.0, 2.0, "one two three four five six seven eight")
    long = "a run one two three four five six ..."
    assert terminal.text == "".join(
        ["\ra run one two", "\ra run one    ", f"\r{long}", "\r" + len(long) * " ", "\r"]
    )
    terminal.text = ""
    with pytest.raises(KeyboardInterrupt), progress_bars._plain_line("x") as show_line:  # noqa: PT012
        show_line(0.0, 1.0, "y")
        raise KeyboardInterrupt
    assert terminal.text == "\rx y\r   \r"
    assert not terminal.waiting
    terminal.text = ""
    with progress_bars._plain_line("x"):
        pass
    assert terminal.text == ""


@pytest.mark.parametrize("make", [progress_bars.progress_bar, progress_bars.sweep_progress])
def test_bars_of_a_plain_terminal_are_such_lines(make, bar, monkeypatch):
    drawn, made = bar()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "60")
    tally = SimpleNamespace(done=2, total=9, finished=2, failed=0)
    with make("title", False) as progress:
        for _ in range(4):
            progress(*((tally,) if make is progress_bars.sweep_progress else (2.0, 9.0)))
    told = "2.0 of 9 runs" if make is progress_bars.progress_bar else "2 of 9"
    assert sys.stderr.text.startswith(f"\rtitle {told}")
    assert (drawn, made) == ([], [])
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    with progress_bars.spinner(False) as show_words:
        show_words("poles \x1b of the loop")
    assert sys.stderr.text.startswith("\rpoles \\x1b of the loop")


def test_a_bar_is_as_wide_as_the_terminal_or_forty_columns(bar):
    _, made = bar()
    for make, width, expand in (
        (progress_bars.progress_bar, 40, False), (progress_bars.sweep_progress, None, True)
    ):  # fmt: skip
        made.clear()
        with make("title", False):
            pass
        ((_, column, told), given), _ = made
        assert column.bar_width == width
        assert given["expand"] is expand
        assert told.text_format == "{task.fields[told]}"


def test_signals_are_handled_as_before_once_the_work_is_done():
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    with interruptible(test_poles_are_printed_together_where_they_are_alike.__code__) as stop:
        assert [signal.getsignal(number) for number in numbers] == [stop, stop]
    assert [signal.getsignal(number) for number in numbers] == before
