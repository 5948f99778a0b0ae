"""What a claim's verdict is, and what becomes of papers whose claims fail."""

from __future__ import annotations

import importlib
import json
import math
import sys
import textwrap

import pytest
from command import ended

import ukctrl_papers.command
from ukctrl.core.errors import InputError, UnknownName
from ukctrl_papers import (
    Claim,
    Paper,
    claim_text,
    papers,
    recompute,
    registry,
    write_reproduction,
)


def claim(**changes):
    """Return a claim that agrees, changed."""
    given = {"where": "eq (1)", "what": "mass", "printed": 1.5, "ours": 1.52, "within": 0.05}
    return Claim(**{**given, **changes})


# Verdicts


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "agrees"),
        ({"ours": 1.55}, "agrees"),
        ({"ours": 1.551}, "differs"),
        ({"ours": 1.7, "otherwise": "differs: misprint"}, "differs: misprint"),
        ({"ours": math.nan, "otherwise": "differs: misprint"}, "differs"),
        ({"ours": math.inf, "otherwise": "differs: underspecified"}, "differs"),
        ({"ours": math.nan, "otherwise": "not reproducible"}, "not reproducible"),
        ({"printed": 0.0, "ours": 1e-9, "within": 1e-8}, "agrees"),
        ({"printed": "rank 11", "ours": "rank 11"}, "agrees"),
        ({"printed": "rank 11", "ours": "rank 12"}, "differs"),
        ({"printed": None, "ours": 3.0}, "differs"),
        ({"printed": None, "otherwise": "differs: underspecified"}, "differs: underspecified"),
        ({"printed": "it falls", "ours": 0.2, "holds": True}, "agrees"),
        ({"printed": "it falls", "ours": 2.0, "holds": False}, "differs"),
        (
            {"ours": 1.5, "holds": False, "otherwise": "differs: claim does not hold"},
            "differs: claim does not hold",
        ),
    ],
)
def test_the_verdict_follows_from_the_numbers(changes, verdict):
    assert claim(**changes).verdict == verdict


@pytest.mark.parametrize(
    ("printed", "ours", "difference"),
    [
        (2.0, 1.0, 0.5),
        (-2.0, -3.0, 0.5),
        (0.0, 0.25, 0.25),
        ("a", 1.0, math.nan),
        (None, 1.0, math.nan),
    ],
)
def test_the_difference_is_relative_to_what_is_printed(printed, ours, difference):
    assert claim(printed=printed, ours=ours).difference == pytest.approx(difference, nan_ok=True)


@pytest.mark.parametrize(
    ("printed", "ours", "texts"),
    [
        (8e-4, 0.005653, ("8e-4", "0.005653", "607 %")),
        (1173284, 975716, ("1173284", "975716", "17 %")),
        (0.01, 0.0100000001, ("0.01", "0.01", "1e-6 %")),
        (4.905, 4.905000000000001, ("4.905", "4.905", "0 %")),
        (-0.27471, -0.274706, ("-0.27471", "-0.274706", "0.0015 %")),
        (0.0, 2.5e-13, ("0", "2.5e-13", "2.5e-13")),
        (None, 20.0, ("", "20", "")),
        ("rank 11", "rank 12", ("rank 11", "rank 12", "")),
        (11, math.nan, ("11", "nan", "")),
    ],
)
def test_ours_has_the_digits_that_the_printed_number_can_be_judged_by(printed, ours, texts):
    given = claim(printed=printed, ours=ours)
    form = claim_text.ascii_number
    assert (
        claim_text.printed_text(given, form), claim_text.computed_text(given, form),
        claim_text.difference_text(given, form)
    ) == texts  # fmt: skip


# Papers


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Replace the papers by those that a test writes."""
    (tmp_path / "papers").mkdir()
    monkeypatch.setattr(ukctrl_papers, "__path__", [str(tmp_path / "papers")])
    assert ukctrl_papers.command, "what is imported later would not be found any more"
    keys = []
    monkeypatch.setattr(registry, "KEYS", keys)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def write(key, body):
        head = "from ukctrl_papers.claim import Claim, Drawing, Paper\n"
        text = head + textwrap.dedent(body)
        (tmp_path / "papers" / f"{key}.py").write_text(text, encoding="utf-8")
        keys.append(key)
        importlib.invalidate_caches()

    yield write
    for key in keys:
        sys.modules.pop(f"ukctrl_papers.{key}", None)


GOOD = """
    def claims():
        yield Claim(where="eq (1)", what="mass", printed=1.5, ours=1.52, within=0.05, unit="kg")
        yield Claim(where="eq (2)", what="rate", printed=3.0, ours=4.0,
                    otherwise="differs: misprint", note="the sign is lost")

    PAPER = Paper(key="good", citation="A. Good, 2001", claims=(claims,))
"""
UNEXPLAINED = """
    def claims():
        yield Claim(where="eq (1)", what="mass", printed=1.0, ours=2.0)

    PAPER = Paper(key="unexplained", citation="U. Nexplained, 2002", claims=(claims,))
"""
FAILING = '''
    def first():
        """The tables."""
        yield Claim(where="Table 1", what="count", printed=1, ours=1)
        raise ZeroDivisionError("no steps")
        yield Claim(where="Table 2", what="count", printed=1, ours=1)

    def second():
        yield Claim(where="Table 3", what="count", printed=1, ours=1)

    PAPER = Paper(key="failing", citation="F. Ailing, 2003", claims=(first, second))
'''
STOPPED = """
    def claims():
        yield Claim(where="eq (1)", what="mass", printed=1, ours=1)
        raise KeyboardInterrupt

    PAPER = Paper(key="stopped", citation="S. Topped, 2004", claims=(claims,))
"""


def command(capfd, *arguments):
    """Run `ukctrl reproduce`; return its code and what it prints."""
    return ended(capfd, "reproduce", *arguments)


def test_every_paper_that_has_a_module_is_one_of_the_framework():
    assert set(papers()) <= set(registry.KEYS)
    for key in papers():
        paper = registry.load(key)
        assert isinstance(paper, Paper)
        assert (paper.key, bool(paper.citation)) == (key, True)


def test_a_paper_appears_when_its_module_exists(library):
    assert papers() == ()
    library("good", GOOD)
    assert papers() == ("good",)


def test_a_paper_that_does_not_exist_is_refused_with_the_near_miss(library):
    library("good", GOOD)
    with pytest.raises(UnknownName, match="no paper named 'god'; did you mean 'good'. Known: good"):
        recompute(["god"])


def test_claims_are_counted_by_their_verdicts(library):
    library("good", GOOD)
    (outcome,) = recompute().outcomes
    assert outcome.counts == {"agrees": 1, "differs: misprint": 1}
    assert outcome.summary == "2 claims: 1 agrees, 1 differs: misprint"
    assert outcome.ok


def test_a_difference_without_an_explanation_is_a_failure(library):
    library("unexplained", UNEXPLAINED)
    assert not recompute().ok


def test_a_part_that_fails_keeps_what_it_had_and_the_other_parts(library):
    library("failing", FAILING)
    (outcome,) = recompute().outcomes
    assert [claim.where for claim in outcome.claims] == ["Table 1", "Table 3"]
    (failure,) = outcome.failures
    assert failure.where == "The tables, after Table 1 (count)"
    assert failure.reason == "ZeroDivisionError: no steps (failing.py, line 6)."
    assert not outcome.ok


def test_a_module_that_cannot_be_imported_does_not_hide_the_other_papers(library):
    library("broken", "raise ImportError('no such part')")
    library("good", GOOD)
    broken, good = recompute().outcomes
    assert "no such part" in broken.failures[0].reason
    assert (broken.ok, good.ok) == (False, True)


def test_a_module_without_claims_is_reported(library):
    library("empty", "")
    (outcome,) = recompute().outcomes
    assert outcome.failures[0].reason == (
        "'ukctrl_papers.empty' must hold PAPER, a Paper; it holds none."
    )


def test_what_was_computed_before_a_stop_is_kept(library):
    library("stopped", STOPPED)
    library("good", GOOD)
    found = recompute()
    assert found.interrupted
    assert not found.ok
    (outcome,) = found.outcomes
    assert [claim.where for claim in outcome.claims] == ["eq (1)"]


def test_a_claim_that_was_computed_while_a_stop_was_asked_is_dropped(library):
    library("good", GOOD)

    def progress(said):
        if "eq (2)" in said:
            raise KeyboardInterrupt

    found = recompute(progress=progress)
    assert [claim.where for claim in found.outcomes[0].claims] == ["eq (1)"]
    assert found.interrupted


def test_a_figure_that_fails_is_reported_and_the_next_is_drawn(library, tmp_path):
    body = """
        from matplotlib.figure import Figure

        def figures():
            yield Drawing("bad", "Figure 1", "", lambda: 1 / 0)
            yield Drawing("motion", "Figure 2", "The motion.", Figure)

        PAPER = Paper(key="drawn", citation="D. Rawn", claims=(), figures=figures)
    """
    library("drawn", body)
    found = recompute()
    assert [failure.where for failure in found.outcomes[0].failures] == ["Figure 1"]
    write_reproduction(found, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "report.html", "reproduce.json", "drawn-motion.png",
    }  # fmt: skip


# The command


def test_the_command_leaves_a_page_and_the_numbers(library, capfd, tmp_path):
    library("good", GOOD)
    code, out, err = command(capfd, "good")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "the sign is lost" in out
    assert "good: 2 claims: 1 agrees, 1 differs: misprint" in out
    folder = tmp_path / "out" / "reproduce-good"
    page = (folder / "report.html").read_text(encoding="utf-8")
    overview = '<a href="#good">good</a></td><td class="number">1</td><td class="number">1</td>'
    for text in (overview, "A. Good, 2001", "mass [kg]", "differs: misprint", "The sign is lost."):
        assert text in page
    assert "<script" not in page
    data = json.loads((folder / "reproduce.json").read_text(encoding="utf-8"))
    assert data["papers"][0]["counts"] == {"agrees": 1, "differs: misprint": 1}
    assert data["papers"][0]["claims"][1]["difference"] == pytest.approx(1.0 / 3.0)


def test_json_is_all_that_is_printed_for_programs(library, capfd, tmp_path):
    library("failing", FAILING)
    code, out, err = command(capfd, "--json", "--out", "here")
    assert (code, err) == (1, "")
    assert json.loads(out) == json.loads((tmp_path / "here" / "reproduce.json").read_text())


@pytest.mark.parametrize(
    ("key", "body", "code"),
    [
        ("good", GOOD, 0),
        ("unexplained", UNEXPLAINED, 1),
        ("failing", FAILING, 1),
        ("stopped", STOPPED, 1),
    ],
)
def test_the_exit_code_says_whether_every_difference_is_explained(library, capfd, key, body, code):
    library(key, body)
    assert command(capfd, "--quiet") == (code, "", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("god",), "no paper named 'god'; did you mean 'good'? Known: good."),
        (("",), "no paper named ''. Known: good."),
        (("good", "servo"), "unexpected extra argument"),
        (("good", "--out", "file"), "--out must be a folder; 'file' is a file."),
        (("good", "--out", "file/under"), "--out 'file/under' cannot be made: "),
        (("good", "--ot", "x"), "no such option: --ot"),
    ],
)
def test_bad_input_is_refused_in_one_line(library, capfd, tmp_path, arguments, says):
    library("good", GOOD)
    (tmp_path / "file").touch()
    code, out, err = command(capfd, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("ukctrl: ")
    assert says.lower() in err.lower()
    assert err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_an_input_error(library, tmp_path):
    library("good", GOOD)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write the page"):
        write_reproduction(recompute(), tmp_path / "file")


class Absent:
    """Lets Python find a package nowhere."""

    def find_spec(self, name, path=None, target=None):
        if name == "ukctrl_papers":
            raise ModuleNotFoundError(name=name)


def test_without_the_package_of_the_papers_the_command_says_what_to_install(capfd, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "ukctrl_papers"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    code, _, said = command(capfd, "scara")
    assert code == 2
    assert "in the package ukctrl_papers, which comes with ukctrl" in " ".join(said.split())
    assert "pip install --force-reinstall" in " ".join(said.split())
