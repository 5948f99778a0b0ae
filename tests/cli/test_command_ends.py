"""How every command ends: its exit code, what it says, and what it leaves.

What would simulate is replaced by an answer made by hand.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from ukctrl.cli.main import main
from ukctrl.core.errors import InputError
from ukctrl.studies.batch.run_store import SimulationRecord

MASSES = "two-mass-spring"
ALPHA = "controller.feedback.alpha"
FILE = Path("scenarios") / f"{MASSES}.toml"


COMPARE = "ukctrl.studies.comparison:compare"
SWEEP = "ukctrl.studies.sweep:sweep"
TUNE = "ukctrl.studies.tuning:tune"


@pytest.fixture(name="ends")
def _ends(monkeypatch, tmp_path, capsys):
    """Give how a command ends: its code, and what it says to people and to programs."""
    monkeypatch.chdir(tmp_path)

    def end(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return ended.value.code, capsys.readouterr()

    return end


def compared(*, whole=True, completed=(True, True), failure=""):
    return SimpleNamespace(
        conditions=SimpleNamespace(whole=whole, failure=failure),
        outcomes=[SimpleNamespace(completed=each) for each in completed],
        to_dict=lambda: {"compared": True},
    )


@pytest.mark.parametrize(
    ("found", "code", "told"),
    [
        (compared(), 0, ""),
        (compared(whole=False), 1, ""),
        (compared(completed=(True, False)), 1, ""),
        (compared(failure="no disk."), 2, f"ukctrl: {MASSES}: no disk.\n"),
    ],
)
def test_how_a_comparison_ends(found, code, told, ends, monkeypatch):
    written, kept = [], []
    monkeypatch.setattr(
        COMPARE.replace(":", "."), lambda *given, **named: kept.append(named["journal"]) or found
    )
    page = "ukctrl.studies.comparison.comparison_page.write_comparison"
    monkeypatch.setattr(page, lambda *given: written.append(given))
    monkeypatch.setattr(
        "ukctrl.studies.tuning.SimulationJournal.remove", lambda self: kept.append("gone")
    )
    ended, said = ends("compare", MASSES, "-c", "own", "--out", "here", "--json")
    assert (ended, said.err) == (code, told)
    assert json.loads(said.out) == {"compared": True}
    assert written == [(found, Path("here"))]
    assert kept[1:] == ["gone"]  # nothing is in it


def test_a_comparison_stopped_while_tuning_says_what_is_kept(ends, monkeypatch):
    def stopped(*given, journal, **named):
        monkeypatch.setattr(type(journal), "__len__", lambda self: 3)
        raise KeyboardInterrupt

    monkeypatch.setattr(COMPARE.replace(":", "."), stopped)
    code, said = ends("compare", MASSES, "-c", "own", "-c", "servo-pid", "--tune", "20", "-o", "h")
    path = Path("h/runs.jsonl")
    assert code == 1
    assert said.err == (
        f"ukctrl: 3 simulations are kept in {path}, and the same command goes on from them.\n"
    )


@pytest.mark.parametrize("options", [[], ["--tune", "20"]])
def test_a_comparison_stopped_before_there_is_anything_leaves_nothing(ends, monkeypatch, options):
    def stopped(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(COMPARE.replace(":", "."), stopped)
    code, said = ends("compare", MASSES, "-c", "own", *options, "-o", "h")
    assert code == 1
    assert said.err == "ukctrl: stopped by the user before there was anything to keep.\n"
    assert not Path("h").exists()


def test_a_comparison_that_is_refused_leaves_a_folder_that_was_there_as_it_was(ends, monkeypatch):
    journals = []

    def refused(*given, journal, **named):
        journals.append(journal)
        raise InputError("no.")

    monkeypatch.setattr(COMPARE.replace(":", "."), refused)
    Path("h").mkdir()
    Path("h/compare.csv").write_text("from before", encoding="utf-8")
    code, said = ends("compare", MASSES, "-c", "own", "-o", "h")
    assert (code, said.err) == (2, f"ukctrl: {MASSES}: no.\n")
    assert [path.name for path in Path("h").iterdir()] == ["compare.csv"]
    with pytest.raises(ValueError, match="closed"):
        journals[0].append(SimulationRecord("completed", "", 1.0, False, {}))


@pytest.mark.parametrize(("ok", "stopped"), [(True, False), (False, False), (False, True)])
def test_how_a_search_ends(ok, stopped, ends, monkeypatch):
    words = [SimpleNamespace(text="first"), SimpleNamespace(text="stopped early")]
    tuned = SimpleNamespace(ok=ok, stopped=stopped, verdicts=words, to_dict=lambda: {"ok": ok})
    monkeypatch.setattr(TUNE.replace(":", "."), lambda *given, **named: tuned)
    written, page = [], "ukctrl.studies.tuning.tuning_page.write_tuned"
    monkeypatch.setattr(page, lambda *given: written.append(given))
    code, said = ends("tune", MASSES, "--json")
    assert written == [(tuned, Path("out") / f"{MASSES}-tune")]
    assert (code, json.loads(said.out), said.err) == (0 if ok else 1, {"ok": ok}, "")
    code, said = ends("tune", MASSES, "--quiet")
    assert said.err == ("ukctrl: stopped early\n" if stopped else "")
    assert said.out == ""


def test_how_a_gain_in_closed_form_is_chosen(ends, monkeypatch):
    saved, asked = [], []

    def save(folder):
        saved.append(folder)
        (folder / "card").write_text("x", encoding="utf-8")

    choice = SimpleNamespace(save=save, to_dict=lambda: {"kappa": 2.0})
    of = "ukctrl_laws.fuzzy.fuzzy_gain_design.FuzzyGainDesign.of"
    monkeypatch.setattr(of, lambda *given: asked.append(given[1]) or choice)
    code, said = ends("tune", MASSES, "--fuzzy", "price=1", "--json")
    assert (code, json.loads(said.out), said.err) == (0, {"kappa": 2.0}, "")
    assert asked == ["price=1"]
    assert saved == [Path("out") / f"{MASSES}-tune"]
    assert (saved[0] / "card").is_file()
    assert ends("tune", MASSES, "--fuzzy", "price=1", "--quiet", "-o", "here")[1].out == ""
    assert saved[1] == Path("here")


def study(count, finished):
    plan = SimpleNamespace(count=finished)
    return SimpleNamespace(
        about=SimpleNamespace(plan=plan), done=count, finished=count == finished,
        scenario={"name": MASSES},
    )  # fmt: skip


@pytest.mark.parametrize(("count", "code"), [(4, 0), (3, 1)])
def test_how_a_sweep_ends(count, code, ends, monkeypatch):
    found, asked = study(count, 4), []

    def write(*given, **named):
        asked.append((given, named))
        return SimpleNamespace, "insight", "replays"

    monkeypatch.setattr(SWEEP.replace(":", "."), lambda *given, **named: found)
    monkeypatch.setattr("ukctrl.studies.sweep_analysis.write_study_report", write)
    told = []
    monkeypatch.setattr("ukctrl.cli.sweep.study_data", lambda *given: told.append(given) or {})
    ended, said = ends("sweep", MASSES, "-n", "4", "-o", "here", "--json", "--trust")
    assert (ended, said.out) == (code, "{}\n")
    assert told == [("insight", Path("here"), "replays")]
    ((given, named),) = asked
    assert given == (found, Path("here"))
    assert (named["again"], named["trust"]) == (count == 4, True)


def test_a_sweep_without_a_report_reads_the_table_alone(ends, monkeypatch):
    asked, told = [], []
    monkeypatch.setattr(SWEEP.replace(":", "."), lambda *given, **named: study(4, 4))
    of = "ukctrl.studies.sweep_analysis.SweepAnalysis.of"
    monkeypatch.setattr(of, lambda *given, **named: asked.append(named) or "insight")
    monkeypatch.setattr("ukctrl.cli.sweep.study_data", lambda *given: told.append(given) or {})
    assert ends("sweep", MASSES, "-n", "4", "--no-report", "--json", "-o", "h")[0] == 0
    assert asked == [{"trust": False}]
    assert told == [("insight", Path("h"), None)]


def test_a_sweep_stopped_before_its_first_sample_says_so(ends, monkeypatch):
    monkeypatch.setattr(SWEEP.replace(":", "."), lambda *given, **named: study(0, 4))
    code, said = ends("sweep", MASSES, "-n", "4", "--json")
    assert code == 1
    assert json.loads(said.out) == {
        "finished": False, "samples": {"planned": 4, "finished": 0},
    }  # fmt: skip
    code, said = ends("sweep", MASSES, "-n", "4")
    assert said.out.splitlines() == [
        "two-mass-spring: no sample is finished",
        "The same command with --resume goes on from here.",
    ]


@pytest.mark.parametrize(
    ("status", "identical", "code"),
    [("completed", True, 0), ("completed", False, 1), ("diverged", True, 1)],
)
def test_how_an_export_ends(status, identical, code, ends, monkeypatch):
    done = SimpleNamespace(is_good=identical)
    asked = []

    def hand_over(*given, **named):
        asked.append((given[2], named))
        return done

    result = SimpleNamespace(status=status)
    monkeypatch.setattr("ukctrl.simulation.simulate.simulate", lambda *given, **named: result)
    monkeypatch.setattr("ukctrl.simulation.export.export_controller.export_controller", hand_over)
    arguments = ["export", MASSES, "--period", "0.01", "--points", "0.05", "--trust", "-q"]
    assert ends(*arguments)[0] == code
    assert asked == [(Path("out") / f"{MASSES}-export", {"points": 0.05, "trust": True})]


@pytest.mark.parametrize("option", ["--period", "--points"])
@pytest.mark.parametrize("text", ["0", "-1", "1e6", "nan", "soon"])
def test_a_time_step_is_positive(option, text, ends):
    code, said = ends("export", MASSES, f"{option}={text}")
    assert code == 2
    wanted = f"{option} must be a positive time in seconds; got '{text}'."
    assert " ".join(said.err.split()) == f"ukctrl: {wanted}"


@pytest.mark.slow(only=["oks0-0"])
@pytest.mark.parametrize(("oks", "code"), [((True, True), 0), ((True, False), 1)])
def test_how_the_check_of_a_part_ends(oks, code, ends, monkeypatch, tmp_path):
    (tmp_path / "law.py").write_text("x = 1\n", encoding="utf-8")
    parts = [SimpleNamespace(ok=ok, to_dict=lambda ok=ok: {"ok": ok}) for ok in oks]
    examine = "ukctrl.analysis.conformance.examine_file.examine_file"
    monkeypatch.setattr(examine, lambda *given, **named: parts)
    ended, said = ends("check", "law.py", "--json")
    assert (ended, json.loads(said.out)) == (code, [{"ok": ok} for ok in oks])


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 1)])
def test_how_recomputing_papers_ends(ok, code, ends, monkeypatch):
    found = SimpleNamespace(ok=ok, to_dict=lambda: {"ok": ok})
    written = []
    monkeypatch.setattr("ukctrl_papers.command.recompute", lambda *given, **named: found)
    monkeypatch.setattr(
        "ukctrl_papers.command.write_reproduction", lambda *given: written.append(given)
    )
    ended, said = ends("reproduce", "scara", "--json", "-o", "here")
    assert (ended, json.loads(said.out)) == (code, {"ok": ok})
    assert written == [(found, Path("here"))]


def test_a_command_line_names_its_program_and_its_help(ends):
    code, said = ends("run", "--xyzzy")
    assert code == 2
    assert said.err == "ukctrl: no such option: --xyzzy. Try 'ukctrl run --help'.\n"
    code, said = ends("runn")
    assert (code, said.out) == (2, "")
    assert said.err.endswith("Did you mean 'run'? Try 'ukctrl --help'.\n")


def test_what_is_nobodys_fault_but_ours_is_a_defect_and_a_failing_disk_is_not(ends, monkeypatch):
    def fails(error):
        def fail(*given, **named):
            raise error

        monkeypatch.setattr("ukctrl.simulation.scenario.Scenario.load", fail)
        return ends("run", MASSES)

    code, said = fails(ValueError("too much"))
    assert code == 3
    assert said.err == (
        "ukctrl: internal error: ValueError: too much. This is a defect in ukctrl; please report "
        "it with the command and the files.\n"
    )
    assert fails(OSError(28, "No space left", "a.nc"))[1].err == "ukctrl: No space left: a.nc.\n"
    assert fails(OSError(28, "No space left"))[1].err == "ukctrl: No space left.\n"
    assert fails(OSError("odd"))[0] == 2
    no_memory = "ukctrl: the machine failed: there is no memory left for this.\n"
    assert fails(MemoryError())[1].err == no_memory
    for stop in (KeyboardInterrupt(), typer.Abort()):
        code, said = fails(stop)
        assert code == 1
        assert said.err == "ukctrl: stopped by the user before there was anything to keep.\n"


@pytest.mark.slow
def test_long_names_and_long_messages_are_cut(ends, monkeypatch):
    def says(text):
        def fail(*given, **named):
            raise InputError(text)

        monkeypatch.setattr("ukctrl.simulation.scenario.Scenario.load", fail)
        return ends("run", MASSES)[1].err.removeprefix("ukctrl: ")

    assert says(f"no '{'x' * 191}'.") == f"no '{'x' * 150}...{'x' * 40}'.\n"
    assert says(f"no '{'x' * 190}'.") == f"no '{'x' * 190}'.\n"
    assert says("x" * 1500) == "x" * 1500 + "\n"
    assert says("x" * 1501) == "x" * 1500 + "...\n"


@pytest.mark.parametrize(
    ("stability", "code"), [("unstable", 1), ("stable", 0), ("neutral", 0), (None, 0)]
)
def test_how_an_analysis_ends(stability, code, ends, monkeypatch):
    rest, asked = SimpleNamespace(point="at rest"), []
    found = SimpleNamespace(stability=stability, plant=SimpleNamespace(point="here"))
    linear = "ukctrl.analysis.linear"
    monkeypatch.setattr(f"{linear}.equilibria", lambda *given, **named: (rest, "far"))
    monkeypatch.setattr(f"{linear}.analyze", lambda *given: asked.append(given[1]) or found)
    monkeypatch.setattr(f"{linear}.largest_period", lambda *given, disk: (*given[1:], disk))
    monkeypatch.setattr(
        "ukctrl.cli.analyze.analysis_data", lambda *given: list(map(str, given[1:]))
    )
    monkeypatch.setattr(f"{linear}.linear_page.write_analysis", lambda *given: asked.append(given))
    options = ["--at", "equilibrium", "--keep", "0", "-o", "here", "--json"]
    ended, said = ends("analyze", MASSES, *options)
    assert ended == code
    data = [f"({rest}, 'far')", "None", "('here', 0.0)", "None"]
    assert json.loads(said.out) == data
    assert asked == ["at rest", (found, data, Path("here"))]


# What is written when a signal comes


SIGNALLED = ("run", "compare", "compare-tuned", "sweep", "tune", "learn", "export", "reproduce")


@pytest.mark.parametrize("command", SIGNALLED)
def test_nothing_stops_what_is_written_at_the_end(command, ends, monkeypatch):
    """A user insists while results are written: two signals, the second of which ends a loop."""
    monkeypatch.setattr("ukctrl.cli.terminal.interrupt.INSIST_SECONDS", -1.0)
    written = []

    def write(*given, **named):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        written.append("whole")
        return SimpleNamespace(is_good=True)

    def stands_for(place, value):
        monkeypatch.setattr(place, lambda *given, **named: value)

    def stopped(*given, journal, **named):
        monkeypatch.setattr(type(journal), "__len__", lambda self: 3)
        raise KeyboardInterrupt

    result = SimpleNamespace(status="completed", save=write, summary=lambda: {})
    stands_for("ukctrl.simulation.simulate.simulate", result)
    stands_for("ukctrl.reports.run_page.write_report", None)
    stands_for("ukctrl_papers.command.recompute", SimpleNamespace(ok=True, to_dict=lambda: {}))
    stands_for(TUNE.replace(":", "."), SimpleNamespace(ok=True, stopped=False, to_dict=lambda: {}))
    practice = SimpleNamespace(ok=True, to_dict=lambda: {})
    stands_for("ukctrl_laws.learning.learn.learn", practice)
    stands_for(SWEEP.replace(":", "."), study(4, 4))
    stands_for("ukctrl.studies.sweep_analysis.write_study_report", (None, "insight", "replays"))
    stands_for(COMPARE.replace(":", "."), compared())
    for place in (
        "ukctrl.simulation.export.export_controller.export_controller",
        "ukctrl_papers.command.write_reproduction",
        "ukctrl.studies.comparison.comparison_page.write_comparison",
        "ukctrl.studies.tuning.tuning_page.write_tuned",
        "ukctrl_laws.learning.command.write_learning_result",
    ):
        monkeypatch.setattr(place, write)
    monkeypatch.setattr("ukctrl.cli.sweep.study_data", lambda *given: write() and {})
    if command == "compare-tuned":
        monkeypatch.setattr(COMPARE.replace(":", "."), stopped)
        monkeypatch.setattr("ukctrl.cli.compare._report_journal", write)
    arguments = {
        "run": ("run", MASSES, "-q"),
        "compare": ("compare", MASSES, "-c", "own", "-q"),
        "compare-tuned": ("compare", MASSES, "-c", "own", "--tune", "20", "-q"),
        "sweep": ("sweep", MASSES, "-n", "4", "--json"),
        "tune": ("tune", MASSES, "-q"),
        "learn": ("learn", MASSES, "-q"),
        "export": ("export", MASSES, "--period", "0.01", "-q"),
        "reproduce": ("reproduce", "scara", "-q"),
    }[command]
    code, said = ends(*arguments)
    assert written == ["whole"]
    assert (code, said.err) == (int(command == "compare-tuned"), "")
