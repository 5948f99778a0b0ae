"""Every option of every command reaches what it names, and the exit code says what came.

What would simulate is replaced by a record of what it is given.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import runpy
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from ukctrl.cli.analyze import _write_card, parse_time
from ukctrl.cli.arguments import load_scenario, make_folder
from ukctrl.cli.main import app, main
from ukctrl.cli.study_file import STUDY_COMMANDS
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import InputError
from ukctrl.core.version import installed_version
from ukctrl.reports.html_page import write_page
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.sweep import Factor, SamplingPlan
from ukctrl.studies.sweep.study import StudyDescription
from ukctrl.studies.tuning import SimulationJournal, read_range
from ukctrl_laws.learning.ilc_update import Learning

MASSES = "two-mass-spring"
ALPHA = "controller.feedback.alpha"
FILE = Path("scenarios") / f"{MASSES}.toml"


class Reached(Exception):
    """What is recorded was called."""


@pytest.fixture(name="given_to")
def _given_to(monkeypatch, tmp_path):
    """Give what a command calls a function with, by the names of its arguments."""
    monkeypatch.chdir(tmp_path)

    def given(place, arguments):
        module, _, path = place.partition(":")
        owner, _, name = path.rpartition(".")
        target = importlib.import_module(module)
        target = getattr(target, owner) if owner else target
        signature, taken = inspect.signature(getattr(target, name)), {}

        def record(*args, **kwargs):
            taken.update(signature.bind(*args, **kwargs).arguments)
            raise Reached

        with monkeypatch.context() as patch:
            patch.setattr(target, name, record)
            with pytest.raises(Reached):
                app(arguments, prog_name="ukctrl", standalone_mode=False)
        return taken

    return given


COMPARE = "ukctrl.studies.comparison:compare"
SWEEP = "ukctrl.studies.sweep:sweep"
TUNE = "ukctrl.studies.tuning:tune"


def test_compare_hands_its_options_on(given_to):
    options = [
        "-c", "servo-pid", "-c", f"b=servo-baumgarte{{{ALPHA}=7}}", "--set",
        "timing.duration=0.25", "--repeats", "3", "--mismatch", "0.1, 0.2", "--tune", "5",
        "--cost", "peak_u", "--over", f"{ALPHA}=2:3", "-j", "2", "-o", "here", "--trust",
        "--subject-to", "worst_margin >= 0",
    ]  # fmt: skip
    given = given_to(COMPARE, ["compare", MASSES, *options])
    assert given["scenario"].timing.duration == 0.25
    assert [entry.controller for entry in given["controllers"]] == ["servo-pid", "servo-baumgarte"]
    assert given["controllers"][1].changes == {ALPHA: 7}
    assert (given["repeats"], given["mismatch"], given["jobs"]) == (3, [0.1, 0.2], 2)
    assert given["trust"] is True
    budget = given["tuning"]
    assert (budget.simulations, budget.cost) == (5, "peak_u")
    assert budget.subject_to == ("worst_margin >= 0",)
    assert budget.over == {ALPHA: read_range(f"{ALPHA}=2:3")[1]}
    assert given["journal"].path == Path("here/runs.jsonl")
    assert given["beside"].parts[-2:] == FILE.parts
    assert not Path("here").exists()  # nothing came of it
    plain = given_to(COMPARE, ["compare", MASSES])
    assert plain["controllers"] is None
    assert (plain["repeats"], plain["mismatch"], plain["jobs"]) == (None, [], None)
    assert plain["tuning"] is None
    assert plain["trust"] is False


def test_what_suits_is_asked_for_with_the_same_trust(given_to):
    for options, trust in ([], False), (["--trust"], True):
        given = given_to(
            "ukctrl.studies.comparison.compare:default_controllers",
            ["compare", MASSES, *options],
        )
        assert given["trust"] is trust
        assert given["beside"].parts[-2:] == FILE.parts


def test_sweep_hands_its_options_on(given_to):
    options = [
        "--vary", f"{ALPHA}=1:9", "-n", "32", "--design", "random", "--seed", "4", "--repeats",
        "2", "-c", "servo-pid", "--set", "timing.duration=0.25", "--jobs", "2", "--resume",
        "--keep", "worst:3", "--timeout", "7.5", "--out", "here", "--trust",
    ]  # fmt: skip
    given = given_to(SWEEP, ["sweep", MASSES, *options])
    assert given["scenario"].timing.duration == 0.25
    assert given["scenario"].controller.name == "servo-pid"
    assert given["factors"] == [f"{ALPHA}=1:9"]
    names = ("design", "n", "seed", "repeats", "jobs", "resume", "keep", "timeout", "folder")
    assert [given[name] for name in names] == [
        "random", 32, 4, 2, 2, True, "worst:3", 7.5, Path("here"),
    ]  # fmt: skip
    assert (given["isolated"], given["trust"]) == (None, True)
    assert given_to(SWEEP, ["sweep", MASSES, *options, "--isolated"])["isolated"] is True
    assert given["beside"].parts[-2:] == FILE.parts
    assert (given["executor"], given["room"]) == (None, None)
    plain = given_to(SWEEP, ["sweep", MASSES, "--repeats", "2"])
    names = ("factors", "design", "n", "seed", "jobs", "resume", "keep", "timeout", "trust")
    assert [plain[name] for name in names] == [
        [], None, None, None, None, False, "none", None, False,
    ]  # fmt: skip
    assert plain["folder"] == Path("out") / f"{MASSES}-sweep"


@pytest.mark.parametrize("place", [SWEEP, COMPARE, TUNE], ids=["sweep", "compare", "tune"])
def test_a_cluster_is_where_studies_run(place, given_to, monkeypatch):
    import contextlib

    asked = []

    @contextlib.contextmanager
    def cluster(address, *, tell):
        asked.append((address, tell))
        yield SimpleNamespace(executor="there", room=12)

    monkeypatch.setattr("ukctrl.studies.batch.dask_cluster.cluster", cluster)
    words = {SWEEP: ["sweep", MASSES, "-n", "4"], TUNE: ["tune", MASSES]}
    words[COMPARE] = ["compare", MASSES, "-c", "own"]
    given = given_to(place, [*words[place], "--cluster", "tcp://one:1"])
    assert (given["executor"], given["room"], given["jobs"]) == ("there", 12, None)
    assert asked[0][0] == "tcp://one:1"
    assert callable(asked[0][1])
    here = given_to(place, [*words[place], "--jobs", "3"])
    assert (here["executor"], here["room"], here["jobs"]) == (None, None, 3)
    with pytest.raises(InputError, match="give --jobs or --cluster, and not both"):
        app([*words[place], "--jobs", "3", "--cluster", "tcp://one:1"], standalone_mode=False)


def test_tune_hands_its_options_on(given_to):
    options = [
        "-c", "servo-baumgarte", "--set", "timing.duration=0.25", "--over", f"{ALPHA}=2:3",
        "--cost", "peak_u", "--subject-to", "rms_phi <= 1", "--budget", "40", "--method",
        "evolution", "--ensemble", "4", "--mismatch", "0.3", "--vary", "seed=1,2", "--aggregate",
        "worst", "--held-out", "6", "-j", "2", "--resume", "-o", "here",
    ]  # fmt: skip
    given = given_to(TUNE, ["tune", MASSES, *options])
    assert given["scenario"].timing.duration == 0.25
    assert given["scenario"].controller.name == "servo-baumgarte"
    assert (given["folder"], given["resume"], given["jobs"]) == (Path("here"), True, 2)
    budget = given["budget"]
    assert (budget.simulations, budget.cost, budget.method) == (40, "peak_u", "evolution")
    assert budget.subject_to == ("rms_phi <= 1",)
    assert budget.over == {ALPHA: read_range(f"{ALPHA}=2:3")[1]}
    assert budget.only
    plants = budget.plants
    assert (plants.count, plants.mismatch, plants.aggregate, plants.held_out) == (
        4, 0.3, "worst", 6,
    )  # fmt: skip
    assert plants.vary == (Factor.parse("seed=1,2"),)


def test_learn_hands_its_options_on(given_to):
    options = ["--trials", "3", "--gain", "0.7", "--cutoff", "9", "--lead", "2", "-o", "here"]
    place = "ukctrl_laws.learning.learn:learn"
    given = given_to(place, ["learn", MASSES, "-c", "servo-pid", *options])
    assert given["scenario"].controller.name == "servo-pid"
    assert given["learning"] == Learning(trials=3, gain=0.7, cutoff=9.0, lead=2)
    assert given["folder"] == Path("here")
    plain = given_to(place, ["learn", MASSES])
    assert (plain["learning"], plain["folder"]) == (Learning(), Path("out") / f"{MASSES}-learn")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], (1, 0.0, 0)),
        (["--ensemble", "3"], (3, 0.1, 3)),
        (["--ensemble", "3", "--vary", "seed=1,2"], (3, 0.0, 3)),
        (["--ensemble", "1"], (1, 0.0, 0)),
        (["--ensemble", "2"], (2, 0.1, 2)),
        (["--mismatch", "0.2"], (1, 0.2, 8)),
        (["--vary", "seed=1,2"], (1, 0.0, 8)),
        (["--held-out", "2"], (1, 0.0, 2)),
    ],
)
def test_plants_that_nobody_has_counted(options, expected, given_to):
    given = given_to(TUNE, ["tune", MASSES, *options])
    plants, budget = given["budget"].plants, given["budget"]
    assert (plants.count, plants.mismatch, plants.held_out) == expected
    assert (budget.simulations, budget.cost, budget.method) == (100, "rms_phi", "simplex")
    assert (plants.aggregate, budget.over, budget.subject_to) == ("average", {}, ())
    assert given["folder"] == Path("out") / f"{MASSES}-tune"
    assert (given["resume"], given["jobs"]) == (False, None)


@pytest.mark.parametrize(
    "option",
    [["--over", f"{ALPHA}=1:2"], ["--cost", "peak_u"], ["--subject-to", "peak_u<=1"],
     ["--vary", "seed=1,2"], ["--ensemble", "2"], ["--mismatch", "0.1"], ["--resume"]],
)  # fmt: skip
def test_a_closed_form_takes_no_option_about_simulations(option, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["tune", MASSES, "--fuzzy", "start=0:1:2", *option])
    assert ended.value.code == 2
    told = "ukctrl: --fuzzy simulates nothing; leave out what is about simulations.\n"
    assert capsys.readouterr().err == told
    assert not list(tmp_path.iterdir())


@pytest.fixture(name="study_folder")
def _study_folder(tmp_path):
    base = Scenario.load(MASSES)
    StudyDescription.of(base, SamplingPlan.of([Factor.parse("seed=1,2")])).write(tmp_path)
    (tmp_path / "journal.jsonl").touch()
    return tmp_path


def test_report_hands_its_options_on(given_to, study_folder):
    place = "ukctrl.studies.sweep_analysis:write_study_report"
    options = [
        "--cost", "peak_u", "--require", "rms_phi = 1e-3", "--require", "peak_u=4", "--map",
        "a, b", "--map", "c,d", "--no-replay", "--out", "there", "--trust",
    ]  # fmt: skip
    given = given_to(place, ["report", str(study_folder), *options])
    assert given["study"].folder == study_folder
    assert given["folder"] == Path("there")
    assert given["cost"] == "peak_u"
    assert given["require"] == {"rms_phi": 1e-3, "peak_u": 4.0}
    assert given["maps"] == [("a", "b"), ("c", "d")]
    assert (given["again"], given["trust"]) == (False, True)
    plain = given_to(place, ["report", str(study_folder)])
    names = ("folder", "cost", "require", "maps", "again", "trust")
    assert [plain[name] for name in names] == [study_folder, None, {}, [], True, False]


RUNS = {
    "run": ("ukctrl.simulation.simulate:simulate", "scenario"),
    "check": ("ukctrl.analysis.check:check", "scenario"),
    "analyze": ("ukctrl.analysis.linear:analyze", "scenario"),
    "export": ("ukctrl.simulation.simulate:simulate", "scenario"),
}


@pytest.mark.parametrize("command", RUNS)
def test_a_scenario_is_changed_as_the_options_say(command, given_to):
    place, name = RUNS[command]
    more = ["--period", "0.02"] if command == "export" else []
    arguments = [command, MASSES, "-c", "servo-pid", "--set", "timing.duration=0.25", *more]
    scenario = given_to(place, arguments)[name]
    assert scenario.controller.name == "servo-pid"
    assert scenario.timing.duration == 0.25
    if more:
        assert (scenario.timing.control, scenario.timing.sample) == (0.02, 0.02)


@pytest.mark.parametrize(
    "command", ["run", "check", "analyze", "compare", "sweep", "tune", "learn"]
)
def test_trust_reaches_the_files(command, given_to):
    place = "ukctrl.simulation.scenario:Scenario.load"
    for options, trust in ([], False), (["--trust"], True):
        assert given_to(place, [command, MASSES, *options])["trust"] is trust


@pytest.mark.parametrize(("at", "when"), [("start", "start"), ("t=1.5", 1.5), ("0.25", 0.25)])
def test_analyze_looks_where_it_is_told(at, when, given_to):
    given = given_to("ukctrl.analysis.linear:analyze", ["analyze", MASSES, "--at", at])
    assert given["at"] == when


def test_analyze_hands_its_options_on(given_to, monkeypatch):
    linear = "ukctrl.analysis.linear"
    resting = ["analyze", MASSES, "--at", "equilibrium"]
    given = given_to(f"{linear}:equilibria", [*resting, "--hold", "a", "--hold", "b"])
    assert list(given["hold"]) == ["a", "b"]
    for options, terms in (
        (["--settling", "2"], ErrorSpec(settling=2.0)),
        (["--settling", "2", "--damping", "0.7"], ErrorSpec(settling=2.0, damping=0.7)),
        (["--bandwidth", "60"], ErrorSpec(bandwidth=60.0)),
    ):
        given = given_to(f"{linear}:designed", ["analyze", MASSES, *options])
        assert list(given.values())[1:] == [terms]
    point = SimpleNamespace(plant=SimpleNamespace(point="here"))
    monkeypatch.setattr(f"{linear}.analyze", lambda *given: point)
    given = given_to(f"{linear}:largest_period", ["analyze", MASSES, "--keep", "0.4"])
    assert given["disk"] == 0.4
    assert "here" in given.values()


@pytest.mark.parametrize(
    ("given", "title", "source"),
    [
        ({"title": "Mine", "source": "a book"}, "Mine", "a book"),
        ({"title": "", "source": ""}, "servo-constraint", "ukctrl"),
    ],
)
def test_gains_of_a_design_are_written_as_a_card(given, title, source, tmp_path):
    scenario = Scenario.load(MASSES, {"controller": {"use": "servo-baumgarte", **given}})
    kind = scenario.to_table()["controller"]["kind"]
    design = SimpleNamespace(terms=ErrorSpec(settling=0.25, damping=0.7))
    _write_card(tmp_path / "new" / "mine.toml", scenario, design)
    table = tomllib.loads((tmp_path / "new" / "mine.toml").read_text())
    wanted = f"{title if given['title'] else kind}, settling in 0.25 s with damping 0.7"
    assert (table["title"], table["source"]) == (wanted, source)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: _write_card(
            path / "a.toml", Scenario.load(MASSES), SimpleNamespace(terms=ErrorSpec(settling=1.0))
        ),
        make_folder,
        lambda path: SimulationJournal(path / "journal.jsonl").close(),
        lambda path: write_page("it", make_folder(path), {"cards/a.toml": "x = 1"}, []),
    ],
)
def test_what_is_written_makes_the_folders_that_it_needs_and_takes_those_that_there_are(
    write, tmp_path
):
    for _ in range(2):
        write(tmp_path / "new" / "deep")
    assert (tmp_path / "new" / "deep").is_dir()


def test_a_card_is_a_toml_file_that_can_be_written(tmp_path):
    scenario, design = Scenario.load(MASSES), SimpleNamespace(terms=ErrorSpec(settling=1.0))
    with pytest.raises(InputError, match=r"--card must name a .toml file; got"):
        _write_card(tmp_path / "mine.txt", scenario, design)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"--card '.*' cannot be written: "):
        _write_card(tmp_path / "file" / "mine.toml", scenario, design)


@pytest.mark.parametrize("text", ["nan", "inf", "t=inf"])
def test_a_time_is_finite(text):
    with pytest.raises(InputError, match="finite time"):
        parse_time(text)


def test_reproduce_computes_what_is_named_where_it_is_told(given_to, monkeypatch):
    place = "ukctrl_papers.command:recompute"
    assert list(given_to(place, ["reproduce"])["keys"]) == []
    assert list(given_to(place, ["reproduce", "scara"])["keys"]) == ["scara"]
    folders = []
    monkeypatch.setattr(
        "ukctrl_papers.command.output_folder",
        lambda out, name: folders.append(out or Path("out") / name) or [][0],
    )
    for arguments in ([], ["servo"], ["servo", "-o", "there"]):
        with pytest.raises(IndexError):
            app(["reproduce", *arguments], standalone_mode=False)
    assert folders == [Path("out/reproduce"), Path("out/reproduce-servo"), Path("there")]


def test_check_of_a_part_hands_its_options_on(given_to, tmp_path):
    law = tmp_path / "law.py"
    law.write_text("x = 1\n", encoding="utf-8")
    place = "ukctrl.analysis.conformance.examine_file:examine_file"
    arguments = ["check", "law.py", "--set", "gain=2", "--on", MASSES, "--trust"]
    given = list(given_to(place, arguments).values())
    assert given[:2] == [law, {"gain": 2}]
    assert given[2].name == MASSES
    assert given[3] is True
    plain = list(given_to(place, ["check", "law.py"]).values())
    assert plain[1] == {}
    assert plain[2].name == "scara-helix"
    assert plain[3] is False


PROGRESS = {
    "compare": ("progress_bar", ["-c", "own"]),
    "tune": ("progress_bar", []),
    "learn": ("progress_bar", []),
    "sweep": ("sweep_progress", ["-n", "4"]),
    "run": ("run_progress", []),
    "export": ("run_progress", ["--period", "0.1"]),
    "reproduce": ("spinner", None),
}


@pytest.mark.parametrize("command", PROGRESS)
def test_progress_is_shown_where_people_read(command, monkeypatch, tmp_path):
    name, more = PROGRESS[command]
    monkeypatch.chdir(tmp_path)
    asked = []

    def ask(*given):
        asked.append(given)
        raise Reached

    beside = {"reproduce": "ukctrl_papers.command", "learn": "ukctrl_laws.learning.command"}
    module = beside.get(command, f"ukctrl.cli.{command}")
    monkeypatch.setattr(f"{module}.{name}", ask)
    arguments = [command] if more is None else [command, MASSES, *more]
    for options in ([], ["--json"], ["-q"], ["--quiet", "--json"]):
        with pytest.raises(Reached):
            app([*arguments, *options], standalone_mode=False)
    hidden = [given[0] if more is None else given[1] for given in asked]
    assert hidden == [False, True, True, True]
    if more is not None:
        assert {given[0] for given in asked} == {Scenario.load(MASSES).title}
    assert not list(tmp_path.iterdir())  # a command that comes to nothing leaves no folder


COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_all_that_may_stand_after_it_is_explained(command):
    """A value that is wanted has a name that says what it is, and not only its type."""
    assert COMMANDS[command].help
    for given in COMMANDS[command].params:
        assert given.help, given.name
        if given.name != "help" and not getattr(given, "is_flag", False):
            assert given.metavar, given.name
            assert given.metavar not in {"TEXT", "INTEGER", "FLOAT", "PATH"}


def test_what_is_not_asked_for_is_off_or_what_the_help_says():
    """No flag is set before somebody asks for it, and numbers are what the help says."""
    given = [(command, each) for command, one in COMMANDS.items() for each in one.params]
    flags = [(command, each.name) for command, each in given if getattr(each, "is_flag", False)]
    assert len(flags) >= 40
    told = {(command, each.name): each.default for command, each in given if each.default}
    assert told == {
        ("schema", "kind"): "scenario", ("identify", "friction"): "coulomb",
        ("identify", "method"): "weighted", ("view", "fps"): 30, ("view", "size"): "1280x720",
        ("view", "speed"): 1.0, ("analyze", "at"): "start", ("analyze", "damping"): 1.0,
        ("tune", "simulations"): 100, ("tune", "method"): "simplex",
        ("tune", "aggregate"): "average", ("learn", "trials"): 10, ("learn", "gain"): 0.5,
        ("learn", "cutoff"): 20.0, ("sweep", "repeats"): 1, ("sweep", "keep"): "none",
        ("export", "points"): "0.01", ("export", "to"): "python", ("export", "part"): "controller",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("command", "name", "said"),
    [
        ("compare", "tune", "Tune all gains first, with so many runs each."),
        (
            "report", "maps",
            "Factors to draw a map over; absent: the two that matter most; give several.",
        ),
        ("report", "no_replay", "Run no sample again; only read the table."),
        (
            "tune", "held_out",
            "Plants to judge on that were not tuned on; absent: as many as --ensemble, or 8 with "
            "--mismatch or --vary alone.",
        ),
    ],
)  # fmt: skip
def test_what_an_option_does_is_said(command, name, said):
    assert next(given.help for given in COMMANDS[command].params if given.name == name) == said


@pytest.mark.slow(only=["analyze"])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_shows_every_word_units_in_brackets_too(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    asked = COMMANDS[command] if command else typer.main.get_command(app)
    with contextlib.suppress(SystemExit):
        main([*filter(None, [command]), "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    told = [given for given in asked.params if not getattr(given, "hidden", False)]
    if command in STUDY_COMMANDS:  # the argument, and at most twelve options
        assert len(told) <= 13
    texts = [given.help.replace(r"\[", "[") for given in told]
    assert [text for text in texts if " ".join(text.split()) not in shown] == []
    if command in ("compare", "view"):
        assert any("[" in text for text in texts)
    assert "\\[" not in shown


def test_a_checkout_that_is_not_installed_has_no_version(capsys, monkeypatch):
    def version(name):
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.version", version)
    installed_version.cache_clear()
    app(["--version"], standalone_mode=False)
    installed_version.cache_clear()
    assert capsys.readouterr().out == "ukctrl 0+unknown\n"


def test_a_broken_file_does_not_hide_the_others_of_its_kind(capsys, tmp_path, monkeypatch):
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "broken.toml").write_text("a = " + "[" * 100_000)
    monkeypatch.chdir(tmp_path)
    app(["list", "scenarios", "--json"], standalone_mode=False)
    told = json.loads(capsys.readouterr().out)["scenarios"]
    assert MASSES in told
    file = Path.cwd() / "scenarios" / "broken.toml"
    assert told["broken"] == (
        f"(cannot be read: {file}: not valid TOML: brackets are nested too deeply.)"
    )


def test_the_module_is_the_command_where_it_is_run_and_not_where_it_is_imported(
    capsys, monkeypatch
):
    monkeypatch.setattr(sys, "argv", ["ukctrl", "--version"])
    monkeypatch.setattr("signal.signal", lambda *given: None)
    runpy.run_module("ukctrl.cli", run_name="imported")
    runpy.run_module("ukctrl.cli.__main__", run_name="imported")
    assert capsys.readouterr().out == ""
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("ukctrl.cli", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("ukctrl ")


@pytest.mark.parametrize("name", ["no-such-scenario", "broken.toml"])
def test_a_name_or_a_file_that_cannot_be_read_is_told_before_what_takes_long(
    name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text("x = \n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "ukctrl.simulation.scenario", None)  # an import would fail
    with pytest.raises(InputError, match=name):
        load_scenario(name, None, None, False)


@pytest.mark.parametrize("arguments", [["run", MASSES], ["export", MASSES, "--period", "0.1"]])
def test_a_run_tells_how_far_it_is_and_how_far_its_plan_is(arguments, given_to):
    given = given_to("ukctrl.simulation.simulate:simulate", arguments)
    assert callable(given["progress"])
    assert callable(given["planning"])
