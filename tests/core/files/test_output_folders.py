"""What is written stays in the folder that was given: links in it are refused, in one line."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from ukctrl import Scenario, simulate, sweep, write_report
from ukctrl.cli import main
from ukctrl.core.errors import InputError
from ukctrl.core.files import output_folders
from ukctrl.core.files.output_folders import open_folder, open_in_place, output_root, remove_file
from ukctrl.simulation.result.atomic_files import output_folder, write_atomically
from ukctrl.studies.journal import Journal
from ukctrl.studies.sweep.sample_record import SampleRecord

SHORT = ("--set", "timing.duration=0.02")
TASK = "two-mass-spring"
ALPHA = "controller.feedback.alpha"


@pytest.fixture(name="mine")
def _mine(tmp_path, monkeypatch):
    """The reader's own folder, with a file that nobody else may touch."""
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious").write_text("as it was", encoding="utf-8")
    return mine


@pytest.fixture(name="refused")
def _refused(mine, capfd):
    def check(*words: str, name: str) -> None:
        """Check that a command is refused in one line, and has changed nothing of the reader's."""
        before = {path: path.lstat().st_mtime_ns for path in (mine, *mine.rglob("*"))}
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*words, "--quiet"])
        err = capfd.readouterr().err
        assert (ended.value.code, err.count("\n")) == (2, 1), err
        assert f"{name}' is a link, and nothing is written through links" in err
        assert {path: path.lstat().st_mtime_ns for path in (mine, *mine.rglob("*"))} == before
        assert (mine / "precious").read_text(encoding="utf-8") == "as it was"

    return check


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study as a stranger could send it."""
    folder = tmp_path_factory.mktemp("study")
    scenario = Scenario.load("scara-helix-baumgarte", {"timing.duration": 0.02})
    sweep(scenario, [f"{ALPHA}=1:9:3"], folder=folder)
    return folder


def test_a_received_study_is_not_written_through_the_link_that_its_worst_sample_is(
    study, mine, refused, tmp_path
):
    main_study = tmp_path / "clean"
    shutil.copytree(study, main_study)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(main_study), "--quiet"])
    assert ended.value.code in (0, None)
    (worst,) = main_study.glob("worst-*")
    received = tmp_path / "received"
    shutil.copytree(study, received)
    (received / worst.name).symlink_to(mine)
    refused("report", "received", name=worst.name)
    assert not (received / "report.html").exists()


@pytest.mark.parametrize("name", ["report.html", "summary.json", "study_overview.png"])
def test_a_file_of_a_received_study_that_is_a_link_is_refused(study, mine, refused, tmp_path, name):
    received = tmp_path / "received"
    shutil.copytree(study, received)
    if name.endswith(".png"):
        with pytest.raises(SystemExit):
            main(["report", "received", "--quiet", "--no-replay"])
        name = min(path.name for path in received.glob("study_*.png"))
        (received / name).unlink()
    (received / name).symlink_to(mine / "precious")
    refused("report", "received", "--no-replay", name=name)


@pytest.mark.parametrize(
    ("words", "name", "folder"),
    [
        (("run", TASK, *SHORT), "result.nc", False),
        (("run", TASK, *SHORT), "scenario.toml", False),
        (("export", TASK, *SHORT, "--period", "0.01"), "robot", True),
        (("export", TASK, *SHORT, "--period", "0.01"), "controller.py", False),
        (("compare", "scara-helix", *SHORT, "-c", "servo-pid"), "servo-pid", True),
        (("compare", "scara-helix", *SHORT, "-c", "servo-pid"), "runs.jsonl", False),
        (("compare", "scara-helix", *SHORT, "-c", "servo-pid"), "report.html", False),
        (("sweep", "scara-helix", *SHORT, "--vary", "seed=1,2", "--keep", "all"), "results", True),
        (("tune", "scara-helix", *SHORT, "--budget", "2"), "journal.jsonl", False),
        (("analyze", TASK), "analysis.json", False),
        (("check", TASK), "check.json", False),
    ],
)  # fmt: skip
def test_no_command_writes_through_a_link_inside_of_its_folder(words, name, folder, mine, refused):
    out = Path("out-folder")
    out.mkdir()
    target = mine if folder else mine / "precious"
    if name == "journal.jsonl":  # as of a search that is gone on with
        (mine / "empty").touch()
        target = mine / "empty"
    (out / name).symlink_to(target)
    refused(*words, "--out", str(out), name=name)
    if name == "journal.jsonl":
        assert (mine / "empty").stat().st_size == 0


def test_a_study_is_not_gone_on_with_in_a_journal_that_is_a_link(mine, refused):
    words = ["sweep", TASK, *SHORT, "--vary", "seed=1,2", "--no-report", "--out", "received"]
    with pytest.raises(SystemExit):
        main([*words, "--quiet"])
    (mine / "other.jsonl").write_text("a line without its end", encoding="utf-8")
    Path("received/journal.jsonl").unlink()
    Path("received/journal.jsonl").symlink_to(mine / "other.jsonl")
    refused(*words, "--resume", name="journal.jsonl")
    assert (mine / "other.jsonl").read_text(encoding="utf-8") == "a line without its end"


@pytest.mark.parametrize("command", ["run", "export", "sweep"])
@pytest.mark.parametrize("inner", [False, True])
def test_a_received_workspace_whose_folder_out_is_a_link_is_refused(command, inner, mine, refused):
    """The folder that no option names is looked for in the working folder."""
    names = {"run": TASK, "export": f"{TASK}-export", "sweep": f"{TASK}-sweep"}
    link = Path("out") / names[command] if inner else Path("out")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(mine)
    more = {"run": (), "export": ("--period", "0.01"), "sweep": ("--vary", "seed=1,2")}[command]
    refused(command, TASK, *SHORT, *more, name=link.name)


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("link", "link' is a link, and nothing is written through links"),
        ("link/below", "link' is a link, and nothing is written through links"),
        ("../elsewhere", "..' leads out of the folder that is written to"),
        ("/elsewhere", "elsewhere' leads out of the folder that is written to"),
    ],
)
def test_a_received_study_file_writes_below_the_working_folder_alone(out, says, mine, capfd):
    Path("link").symlink_to(mine)
    study = f'[study]\nscenario = "{TASK}"\nvary = "seed=1,2"\nout = "{out}"\n'
    Path("study.toml").write_text(study, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["sweep", "study.toml", "--quiet", *SHORT])
    err = capfd.readouterr().err
    assert (ended.value.code, err.count("\n")) == (2, 1), err
    assert says in err
    assert os.listdir(mine) == ["precious"]
    assert not Path("../elsewhere").exists()


def test_the_folder_that_somebody_names_may_be_a_link_of_his_and_so_may_those_above_it(mine):
    Path("link").symlink_to(mine)
    for out in ("link", "link/below"):
        with pytest.raises(SystemExit) as ended:
            main(["run", TASK, *SHORT, "--quiet", "--out", out])
        assert ended.value.code in (0, None)
    assert (mine / "report.html").exists()
    assert (mine / "below" / "result.nc").exists()


def test_results_and_pages_of_python_are_not_written_through_links_either(mine, tmp_path):
    result = simulate(Scenario.load(TASK, {"timing.duration": 0.02}))
    place = tmp_path / "place"
    place.mkdir()
    (place / "report.html").symlink_to(mine / "precious")
    with pytest.raises(InputError, match="report.html' is a link"):
        write_report(result, place)
    (place / "summary.json").symlink_to(mine / "precious")
    with pytest.raises(InputError, match="summary.json' is a link"):
        result.save(place)
    (tmp_path / "figure.pdf").symlink_to(mine / "precious")
    assert (mine / "precious").read_text(encoding="utf-8") == "as it was"


# Between check and use


def test_a_folder_that_becomes_a_link_while_it_is_written_to_leads_nowhere(mine, tmp_path):
    """What was opened is what is written to, whatever its name stands for by then."""
    place = tmp_path / "place"
    with output_folder("the page", place), output_folder("the run", place / "inner"):
        write_atomically(place / "inner" / "first", b"1")
        (place / "inner").rename(tmp_path / "moved")
        (place / "inner").symlink_to(mine)
        write_atomically(place / "inner" / "second", b"2")
    assert sorted(os.listdir(tmp_path / "moved")) == ["first", "second"]
    assert os.listdir(mine) == ["precious"]


def test_a_name_that_becomes_a_link_after_it_was_looked_at_is_not_followed(
    mine, tmp_path, monkeypatch
):
    """Somebody swaps the folder or the file at the worst moment, just after the check."""
    place = tmp_path / "place"
    place.mkdir()
    honest = output_folders.refuse_link

    def swap(path: Path, folder: int) -> None:
        honest(path, folder)
        path.unlink(missing_ok=True)
        path.symlink_to(mine / "precious")

    monkeypatch.setattr("ukctrl.simulation.result.atomic_files.refuse_link", swap)
    monkeypatch.setattr(output_folders, "refuse_link", swap)
    with output_folder("the page", place):
        write_atomically(place / "page", b"page")
    assert (place / "page").read_bytes() == b"page"
    assert not (place / "page").is_symlink()
    with pytest.raises(InputError, match="cannot write"):
        Journal(place / "journal.jsonl", SampleRecord, "sweep")
    assert (mine / "precious").read_text(encoding="utf-8") == "as it was"


def test_a_folder_is_made_without_a_moment_in_which_a_link_could_take_its_place(
    mine, tmp_path, monkeypatch
):
    real = os.mkdir

    def swap(name, mode=0o777, *, dir_fd=None):
        real(name, mode, dir_fd=dir_fd)
        if name == "inner":
            os.rmdir(name, dir_fd=dir_fd)
            os.symlink(mine, name, dir_fd=dir_fd)

    with output_root(tmp_path):
        monkeypatch.setattr(os, "mkdir", swap)
        with pytest.raises(InputError, match="inner' is a link"):
            write_atomically(tmp_path / "inner" / "page", b"page")
    assert os.listdir(mine) == ["precious"]


# Functions


def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path):
    with (
        output_root(tmp_path / "in"),
        pytest.raises(InputError, match="leads out of the folder"),
    ):
        write_atomically(tmp_path / "in" / ".." / "page", b"page")
    assert os.listdir(tmp_path) == ["in"]


def test_a_file_that_is_changed_in_place_has_no_other_name(tmp_path):
    (tmp_path / "elsewhere").write_text("as it was", encoding="utf-8")
    os.link(tmp_path / "elsewhere", tmp_path / "journal")
    with pytest.raises(InputError, match="journal' has another name elsewhere"):
        open_in_place(tmp_path / "journal", os.O_RDWR | os.O_APPEND)
    write_atomically(tmp_path / "journal", b"")  # another file takes its place
    assert (tmp_path / "elsewhere").read_text(encoding="utf-8") == "as it was"
    os.close(open_in_place(tmp_path / "journal", os.O_RDWR | os.O_APPEND))


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    remove_file(tmp_path / "link")
    remove_file(tmp_path / "link")
    assert os.listdir(tmp_path) == ["file"]


def test_files_and_folders_have_the_rights_that_the_user_gives_new_ones(tmp_path):
    mask = os.umask(0o027)
    try:
        with output_root(tmp_path):
            write_atomically(tmp_path / "a" / "b", b"")
    finally:
        os.umask(mask)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")]
    assert modes == [0o750, 0o640]


def test_handles_are_closed_also_where_something_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        with open_folder(tmp_path / "a" / "b"):
            pass
        with pytest.raises(InputError), output_root(tmp_path):
            write_atomically(tmp_path / "link" / "page", b"")
    assert len(os.listdir("/dev/fd")) == before
