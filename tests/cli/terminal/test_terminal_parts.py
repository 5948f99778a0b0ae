"""What the terminal shows: lines, durations, speeds and stops, from parts made by hand."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
import types
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from printed_lines import plain

from ukctrl.analysis.linear.linear_page import _pole, poles_text
from ukctrl.cli.main import main
from ukctrl.cli.terminal.interrupt import INSIST_SECONDS, InterruptHandler, interruptible
from ukctrl.cli.terminal.lines import write
from ukctrl.cli.terminal.progress_bars import _duration, _log_lines, _Throughput
from ukctrl.cli.terminal.studies_text import report_lines
from ukctrl.cli.terminal.summaries import (
    catalogue_lines,
    export_data,
    export_lines,
    workspace_lines,
)
from ukctrl.core.number_text import start_shift_text
from ukctrl.simulation.export.export_controller import ExportedController
from ukctrl.simulation.export.runtime import Replay
from ukctrl.studies.comparison.comparison_page import _tuned_table
from ukctrl.studies.sweep_analysis.study_page import _design_text, empty_report
from ukctrl.studies.tuning import Gain, TuningTrial
from ukctrl_laws.fuzzy.command import fuzzy_lines
from ukctrl_papers.claim import Claim
from ukctrl_papers.paper_result import Failure, Outcome, Reproduction
from ukctrl_papers.reproduce_text import _widths, reproduction_lines


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (61.0, "1 min 01 s"),
     (3599.0, "59 min 59 s"), (3600.0, "1 h 00 min"), (7385.0, "2 h 03 min")],
)  # fmt: skip
def test_a_duration_in_words(seconds, text):
    assert _duration(seconds) == text


def test_the_speed_leaves_out_the_longest_pause():
    speed = _Throughput()
    assert speed.rate(0.0, 0.0) is None
    assert speed.remaining_text(0.0, 0.0, 10.0) == ""
    assert speed.rate(10.0, 1.0) is None  # workers start
    assert speed.rate(11.0, 2.0) == pytest.approx(1.0)
    assert speed.rate(12.0, 3.0) == pytest.approx(1.0)
    assert speed.remaining_text(12.0, 3.0, 10.0) == "7 s left"
    assert speed.rate(14.0, 3.0) == pytest.approx(0.5)  # waiting counts, once it is told
    tally = SimpleNamespace(finished=3, total=10, failed=2, done=3.0)
    assert speed.status_text(14.0, tally) == "3 of 10, 2 failed, 0.5/s, 14 s left"
    fresh = SimpleNamespace(finished=0, total=10, failed=0, done=0.0)
    assert _Throughput().status_text(0.0, fresh) == "0 of 10"


@pytest.mark.parametrize(("step", "speed"), [(1e-5, 1e5), (3600.0, 1.0 / 3600.0), (0.0, 1e9)])
def test_a_speed_is_told_however_fast_or_slow_work_is(step, speed):
    seen = _Throughput()
    assert [seen.rate(k * step, float(k)) for k in range(2)] == [None, None]
    assert seen.rate(2.0 * step, 2.0) == pytest.approx(speed)


def test_without_a_terminal_a_line_is_written_now_and_then(monkeypatch, capsys):
    clock = iter([0.0, 29.0, 30.0, 31.0, 61.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    write = _log_lines(_Throughput())
    for finished in range(4):
        write(SimpleNamespace(finished=finished, total=9, failed=0, done=float(finished)))
    told = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in told] == ["ukctrl: 1 of 9", "ukctrl: 3 of 9"]


@pytest.mark.parametrize(
    ("by", "text"),
    [
        (None, ""),
        ({}, ""),
        ({"m": 0.0, "rad": 0.0}, "satisfies the constraints as given"),
        ({"m": 0.01234, "rad": 0.0}, "moved to satisfy the constraints, by 0.0123 m"),
        ({"m": 0.01, "rad": 0.2}, "moved to satisfy the constraints, by 0.01 m, 0.2 rad"),
    ],
)
def test_how_far_a_start_was_moved(by, text):
    assert start_shift_text(by) == text


def test_the_catalogue_lists_names_beside_titles_or_says_that_there_is_none():
    found = {"robots": {"arm": "An arm", "quadrotor": "It flies"}, "scenarios": {}}
    assert plain(catalogue_lines(found)) == [
        "robots", "  arm        An arm", "  quadrotor  It flies", "scenarios", "  none"
    ]  # fmt: skip


def test_a_new_workspace_says_what_to_do_next():
    assert plain(workspace_lines([Path("w/a.toml")], Path("w"))) == [
        "  w/a.toml", "Next:", "  cd w", "  ukctrl check my-scenario", "  ukctrl run my-scenario"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("replay", "identical"),
    [
        (Replay(4, 0.0, 0.0, 9.0), True),
        (Replay(4, 0.1, 0.0, 9.0), False),
        (Replay(0, 0.0, 0.0, 0.0), False),
    ],
)
def test_what_was_handed_over_is_called_identical_only_where_it_was_compared(replay, identical):
    done = ExportedController(
        Path("out"), {"controller.py": "the class"}, replay, ("take it along.",)
    )
    data = export_data(done)
    assert data == {
        "folder": "out", "files": {"controller.py": "the class"}, "identical": identical,
        "largest_difference": replay.worst, "ticks": replay.ticks, "mean_step_us": replay.mean_us,
        "notes": ["take it along."],
    }  # fmt: skip
    lines = plain(export_lines(done))
    assert f"  check  {replay}" in lines
    assert lines[-1] == "  note   take it along."


def tuning(*values, before=2.0):
    gains = tuple(Gain(f"controller.k{k}", 1.0, 0.1, 10.0) for k in range(len(values)))
    best = TuningTrial(
        {g.path: v for g, v in zip(gains, values, strict=True)}, 1.0, 1.0, "completed", "sobol"
    )
    return SimpleNamespace(gains=gains, best=best, before=before, after=1.0)


def test_what_a_search_found_is_one_line_a_controller():
    found = {"a": tuning(1.5, 2.0), "many": tuning(*range(1, 9), before=float("inf"))}
    assert [[cell.text for cell in row] for row in _tuned_table(found).rows] == [
        ["a", "2 -> 1", "k0 1.5, k1 2"],
        ["many", "failed -> 1", "k0 1, k1 2, k2 3, k3 4, k4 5, k5 6, and 2 more"],
    ]


def test_a_gain_in_closed_form_stands_beside_those_of_other_prices():
    heads = ("price", "kappa", "cost", "transient", "steady", "effort")
    prices = [dict(zip(heads, (k / 8.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True)) for k in (1, 2)]
    choice = SimpleNamespace(
        card_kappa=0.5, kappa=2.0, scenario=SimpleNamespace(title="A study"),
        uncertainty="price=0.25",
        fuzzy_gain=SimpleNamespace(price=0.25), to_dict=lambda: {"prices": prices},
        name="law-fuzzy",
    )  # fmt: skip
    lines = fuzzy_lines(choice, Path("out"))
    text = plain(lines)
    assert text[:3] == [
        "A study", "  kappa   2 1/s in closed form; the card's is 0.5", "  for     price=0.25",
    ]  # fmt: skip
    assert [line.split() for line in text[3:6]] == [
        list(heads), ["0.125", "2", "3", "4", "5", "6"], ["0.25", "2", "3", "4", "5", "6"],
    ]  # fmt: skip
    assert text[6:] == [
        "curve   out/fuzzy_gain.csv", "figure  out/fuzzy_gain.png", "card    out/law-fuzzy.toml",
    ]  # fmt: skip
    assert {part.style for part in lines[0]} == {"", "bold"}
    assert {part.style for part in lines[4]} == {""}
    assert {part.style for part in lines[5]} == {"bold"}  # the price that was asked for


def design(strongest=(), factors=(), repeats=1):
    study = SimpleNamespace(
        design="sobol", repeats=repeats, seed=3, factors=[SimpleNamespace(path=p) for p in factors]
    )
    return "design " + _design_text(
        SimpleNamespace(study=study, strongest=[SimpleNamespace(path=p) for p in strongest])
    )


def test_the_design_of_a_study_names_the_strongest_factors_first():
    assert design() == "design sobol, seed 3; varied: the seed alone"
    assert design(factors="ab", repeats=2) == "design sobol, 2 repeats, seed 3; varied: a, b"
    assert design(strongest="ba", factors="ab") == "design sobol, seed 3; varied: b, a"
    assert design(factors="abcdef").endswith("varied: a, b, c, d, e, f")
    assert design(factors="abcdefg").endswith("varied: a, b, c, d, e, f, and 1 more")
    assert design(factors="abcdefgh").endswith("varied: a, b, c, d, e, f, and 2 more")


def test_a_study_without_a_sample_says_how_to_go_on():
    named = SimpleNamespace(scenario={"title": "A study"})
    assert plain(report_lines(empty_report(named), Path("out"))) == [
        "A study: no sample is finished", "The same command with --resume goes on from here."
    ]  # fmt: skip


def the_loop(stop):
    stop(2, sys._getframe())


def test_a_signal_stops_the_loop_where_it_is_or_at_its_next_sample(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    stop, seen = InterruptHandler(the_loop.__code__), []
    watched = stop.checked(lambda *given: seen.append(given))
    watched(1, 2)
    stop(2, sys._getframe())  # outside of the loop: the next sample stops
    with pytest.raises(KeyboardInterrupt):
        watched(3, 4)
    assert seen == [(1, 2)]
    clock[0] = INSIST_SECONDS
    stop(2, sys._getframe())
    clock[0] = INSIST_SECONDS + 0.1
    with pytest.raises(KeyboardInterrupt):  # who asks again insists
        stop(2, sys._getframe())


def test_a_signal_inside_the_loop_interrupts_at_once_but_never_while_results_are_written():
    stop = InterruptHandler(the_loop.__code__)
    with pytest.raises(KeyboardInterrupt):
        the_loop(stop)
    stop.block()
    the_loop(stop)


class Finalised:
    """What Python deletes in the middle of a signal."""

    stop = None

    def __del__(self):
        if self.stop is not None:
            self.stop(2, sys._getframe())


def deleting(stop):
    doomed = Finalised()
    doomed.stop = stop
    try:
        doomed.__del__()
    finally:
        doomed.stop = None


def test_a_signal_while_something_is_deleted_stops_at_the_next_sample():
    stop = InterruptHandler(deleting.__code__)
    deleting(stop)  # Python would print an interrupt there and go on
    with pytest.raises(KeyboardInterrupt):
        stop.checked(lambda: None)()


def importing(rounds):
    """Stand for an import within a loop, during which somebody asks to stop."""
    signal.raise_signal(signal.SIGINT)
    deadline = time.monotonic() + 0.1
    while time.monotonic() < deadline:
        rounds.append("imports")


def a_loop_that_imports(rounds, name="importlib._bootstrap"):
    module = {"__name__": name, "signal": signal, "time": time}
    types.FunctionType(importing.__code__, module)(rounds)
    rounds.append("imported whole")
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        pass
    rounds.append("never stopped")


@pytest.mark.skipif(sys.platform == "win32", reason="no signal comes again there")
@pytest.mark.parametrize("name", ["importlib._bootstrap", "weakref"])
def test_a_signal_during_an_import_stops_the_loop_right_after_it(name):
    rounds = []
    with interruptible(a_loop_that_imports.__code__), pytest.raises(KeyboardInterrupt):
        a_loop_that_imports(rounds, name)
    assert rounds[-2:] == ["imports", "imported whole"]
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


@pytest.mark.skipif(sys.platform == "win32", reason="no signal comes again there")
def test_an_import_that_takes_long_is_interrupted(monkeypatch):
    monkeypatch.setattr("ukctrl.cli.terminal.interrupt.MAX_DEFER_SECONDS", 0.05)
    rounds = []
    with interruptible(a_loop_that_imports.__code__), pytest.raises(KeyboardInterrupt):
        a_loop_that_imports(rounds)
    assert rounds[-1] == "imports"


def a_loop_that_ends_with_an_import():
    module = {"__name__": "importlib._bootstrap", "signal": signal}
    types.FunctionType((lambda: signal.raise_signal(signal.SIGINT)).__code__, module)()


@pytest.mark.skipif(sys.platform == "win32", reason="no signal comes again there")
def test_a_signal_that_was_to_be_looked_at_again_does_not_come_behind_the_end(monkeypatch):
    """Nobody hears it then, and it would end Python."""
    monkeypatch.setattr("ukctrl.cli.terminal.interrupt.RETRY_SECONDS", 60.0)
    with interruptible(a_loop_that_ends_with_an_import.__code__):
        a_loop_that_ends_with_an_import()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0.0)
    assert left == 0.0


@pytest.mark.parametrize(
    ("pole", "count", "text"),
    [
        (complex(-2.0, 0.0), 1, "-2"), (complex(0.9e-9, 2.0), 1, "0 +- 2j"),
        (complex(1.1e-9, 2.0), 1, "1.1e-09 +- 2j"), (complex(-1.0, 2.0), 3, "-1 +- 2j"),
        (complex(-1.0, 2.0), 4, "-1 +- 2j (2 pairs)"), (complex(-2.0, 1e-6), 1, "-2"),
        (complex(-2.0, 0.0), 2, "-2 (2 of them)"),
    ],
)  # fmt: skip
def test_a_pole_is_shown_without_its_rounding(pole, count, text):
    assert _pole(pole, count, 1e-6) == text


def test_poles_that_grow_alike_stand_with_the_slow_ones_first():
    pairs = [-1.0 - 3.0j, -1.0 - 2.0j, -1.0 + 2.0j, -1.0 + 3.0j, -2.0, 0.5]
    assert poles_text(np.array(pairs)) == "0.5, -1 +- 2j, -1 +- 3j, -2 1/s"


@pytest.mark.parametrize("largest", [1.0, 1e3, 1e6])
def test_whether_small_poles_are_alike_depends_on_the_largest(largest):
    """They are where they differ by less than two millionths of it."""
    small = 1e-6 * largest
    alike = np.array([-small, -2.5 * small, -largest])
    assert poles_text(alike) == f"{-small:.3g} (2 of them), {-largest:.3g} 1/s"
    apart = np.array([-small, -3.5 * small, -largest])
    assert poles_text(apart) == f"{-small:.3g}, {-3.5 * small:.3g}, {-largest:.3g} 1/s"


class Closed(io.StringIO):
    """A standard output whose reader has left, or whose disk is full."""

    encoding = "utf-8"

    def __init__(self, error, number):
        super().__init__()
        self._error, self._number = error, number

    def fileno(self):
        return self._number

    def flush(self):
        raise self._error


def test_a_reader_that_has_left_is_no_failure_and_a_full_disk_is_one(monkeypatch, tmp_path):
    with (tmp_path / "out").open("w") as file:
        monkeypatch.setattr(sys, "stdout", Closed(BrokenPipeError(), file.fileno()))
        write("told")
        os.write(file.fileno(), b"what is left in the buffer")  # goes nowhere now
        monkeypatch.setattr(sys, "stdout", Closed(OSError(28, "No space left"), file.fileno()))
        with pytest.raises(OSError, match="No space left"):
            write("told")
    assert (tmp_path / "out").read_bytes() == b""
    monkeypatch.setattr(sys, "stdout", None)
    write("nobody listens")


TOLD = "the derivation before it has the other sign, and so has the figure"
CLAIMS = (
    Claim(
        where="Table 1",
        what="the largest error of the tip along the path of the second example",
        printed=1.25,
        ours=1.251,
        unit="mm",
        within=0.005,
        note="not told where they agree",
    ),
    Claim(
        where="eq (7)", what="sign", printed="+", ours="-", otherwise="differs: misprint", note=TOLD
    ),
    Claim(where="Figure 2", what="period", printed=2.0, ours=3.0, unit="s"),
)
IN_A_TERMINAL = """\
A. Author, Journal 1, 2020
place    quantity                           paper   ours  off by  verdict
Table 1  the largest error of the tip        1.25  1.251  0.08 %  agrees
         along the path of the second
         example [mm]
eq (7)   sign                                   +      -          differs:
                                                                  misprint
         the derivation before it has the other sign, and so has the figure

b-2021
place     quantity    paper  ours  off by  verdict
Figure 2  period [s]      2     3    50 %  differs
  failed: Figure 3: no start was found

stopped by the user; what was computed until then is kept
a-2020: 2 claims: 1 agrees, 1 differs: misprint
b-2021: 1 claim: 1 differs, 1 failed
report  out/report.html
data    out/reproduce.json"""
IN_A_PIPE = f"""\
A. Author, Journal 1, 2020
place    quantity{64 * " "}paper   ours  off by  verdict
Table 1  {CLAIMS[0].what} [mm]   1.25  1.251  0.08 %  agrees
eq (7)   sign{72 * " "}+      -          differs: misprint
         {TOLD}

"""


def test_published_numbers_stand_beside_ours_in_a_terminal_and_in_a_pipe(monkeypatch):
    papers = (
        Outcome(key="a-2020", citation="A. Author, Journal 1, 2020", claims=[*CLAIMS[:2]]),
        Outcome(
            key="b-2021",
            claims=[CLAIMS[2]],
            failures=[Failure("Figure 3", "no start was found")],
        ),
    )

    def shown(columns, interrupted):
        monkeypatch.setenv("COLUMNS", str(columns))
        made = Reproduction(outcomes=papers, interrupted=interrupted, provenance={})
        lines = reproduction_lines(made, Path("out"))
        parts = [part for line in lines for part in line if not isinstance(part, str)]
        look = {part.text.strip(): part.style for part in parts}
        assert look.items() >= {
            TOLD: "dim", "verdict": "dim", "agrees": "bold green", "failed:": "bold red",
            papers[0].citation: "bold", "a-2020:": "bold green", "b-2021:": "bold red",
        }.items()  # fmt: skip
        stopped = "stopped by the user; what was computed until then is kept"
        assert look.get(stopped, "yellow") == "yellow"
        return "\n".join(plain(lines))

    assert shown(80, True) == IN_A_TERMINAL
    stopped = "stopped by the user; what was computed until then is kept\n"
    assert shown(80, False) == IN_A_TERMINAL.replace(stopped, "")
    assert shown(100_000, False).startswith(IN_A_PIPE)


@pytest.mark.parametrize(
    ("columns", "natural", "widths"),
    [
        (80, [99] * 6, [14, 15, 10, 10, 7, 14]),  # with five gaps of two: 80
        (40, [99] * 6, [14, 15, 10, 10, 7, 14]),  # they shrink no further
        (81, [99] * 6, [14, 16, 10, 10, 7, 14]),  # what is left goes to the quantity first,
        (105, [99] * 6, [14, 40, 10, 10, 7, 14]),
        (110, [99] * 6, [14, 40, 15, 10, 7, 14]),  # then to the paper's number and ours,
        (125, [99] * 6, [14, 40, 24, 16, 7, 14]),
        (140, [99] * 6, [14, 40, 24, 24, 7, 21]),  # the verdict,
        (152, [99] * 6, [19, 40, 24, 24, 7, 28]),  # the place,
        (177, [99] * 6, [24, 60, 24, 24, 7, 28]),  # and to the quantity again
        (300, [99] * 6, [24, 99, 24, 24, 7, 28]),
        (80, [9, 20, 4, 5, 6, 8], [9, 20, 4, 5, 6, 8]),  # nobody gets more than there is to say
        (80, [9, 50, 4, 5, 6, 8], [9, 38, 4, 5, 6, 8]),
        (100_000, [99] * 6, [99] * 6),  # in a pipe
    ],
)
def test_room_that_is_left_goes_to_the_columns_in_their_order(
    columns, natural, widths, monkeypatch
):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert _widths([["x" * size for size in natural], [""] * 6]) == widths


@pytest.mark.parametrize("option", ["--out", "--controller"])
def test_what_only_a_scenario_has_is_refused_of_a_part_and_of_a_robot(option, tmp_path, capsys):
    law = tmp_path / "law.py"
    law.write_text("raise SystemExit('it was run')\n", encoding="utf-8")
    part = {"--out": "a part has no motion to draw", "--controller": "use --on SCENARIO for a part"}
    refused = [(str(law), part[option])]
    if option == "--controller":  # of a robot there is a page
        refused.append(("robots/scara", "'robots/scara' is a robot"))
    for name, why in refused:
        with pytest.raises(SystemExit) as ended:
            main(["check", name, option, "x"])
        assert ended.value.code == 2
        told = " ".join(capsys.readouterr().err.split())
        assert f"{option} goes with a scenario; {why}" in told
