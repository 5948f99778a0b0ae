"""Pages and their files: what is linked, written, removed and allowed; the tables of a run."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from jinja2 import UndefinedError

from ukctrl.core.errors import InputError
from ukctrl.core.version import installed_version
from ukctrl.reports import html_page, run_page
from ukctrl.reports.report_table import ReportTable, TableColumn
from ukctrl.reports.scene.page_data import PageData
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result

NAN = math.nan


def page_of(result):
    return run_page.html(result, ())


def linked(page):
    parts = re.findall(r'<section id="(\w+)"', page)
    assert parts == re.findall(r'<a href="#(\w+)">', page)
    return parts


def test_the_page_of_a_run_has_every_part_that_there_is_something_for(helix):
    page = page_of(helix())
    assert linked(page) == ["verdicts", "metrics", "audit", "scenario", "provenance"]
    assert "<script" not in page
    assert "The run recorded nothing that can be drawn." in page
    assert "After Xu &amp; Liu 2017" in page
    assert "each servo block by itself" in page
    bare = Result.build(time=[0.0, 1.0], samples={}, labels=Labels(), status="completed")
    page = page_of(bare)
    assert linked(page) == ["verdicts", "metrics", "provenance"]
    assert "After " not in page
    assert "each servo block by itself" not in page


def test_metrics_of_a_run_have_units_and_say_what_they_are(helix):
    table = run_page._metric_table(helix())
    assert [column.head for column in table.columns] == ["metric", "value", "unit", "meaning"]
    assert [row[0].text for row in table.rows] == list(metrics.METRICS)
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert rows["peak_u"] == ["4.905", "N·m, N", "Largest magnitude of any one input."]
    free = Result.build(time=[0.0, 1.0], samples={}, labels=Labels(), status="completed")
    names = {row[0].text for row in run_page._metric_table(free).rows}
    assert names == {name for name, one in metrics.METRICS.items() if not one.about_task}


def test_metrics_of_blocks_stand_by_themselves_where_there_are_several(helix):
    table = run_page._block_table(helix())
    per_block = [name for name, one in metrics.METRICS.items() if one.per_block]
    assert [column.head for column in table.columns] == ["block", *per_block]
    assert [row[0].text for row in table.rows] == ["tool", "tilt"]
    place = 1 + per_block.index("peak_phi")
    assert [row[place].text for row in table.rows] == ["20 mm", "8 mrad"]
    one = Labels(rows=("x",), row_units=("m",), row_blocks=("task",))
    alone = Result.build(
        time=[0.0, 1.0], samples={"phi": np.zeros((2, 1)), "beta": np.zeros((2, 1))}, labels=one,
        status="completed",
    )  # fmt: skip
    assert run_page._block_table(alone) is None


def test_the_largest_input_is_told_with_its_motor(motors):
    t = np.arange(3.0)
    run = motors(t, np.array([[1.0, -2.0], [NAN, 0.5], [0.25, 1.5]]))
    assert run_page._input_tile(run) == ("largest input", "2", "N·m", "by 'u1'")
    nothing = motors(t, np.zeros((3, 0)))
    assert run_page._input_tile(nothing) == ("largest input", "–", "", "")


def test_a_motion_lasts_from_its_first_sample_to_its_last():
    for end, told in ((3.5, "1.5"), (3.234567, "1.235")):
        run = Result.build(time=[2.0, end], samples={}, labels=Labels(), status="completed")
        assert run_page._motion_tile(run) == ("motion", told, "s", "")


def test_what_is_known_of_the_origin_is_listed_flat():
    given = {
        "audit": [1], "scenario": "x", "robot": "y", "controller": "z", "seed": 3,
        "wall_time": 0.125, "versions": {"a": "1", "b": 2.5}, "levels": [0.1234567, None],
        "none": None, "on": True,
    }  # fmt: skip
    assert html_page.provenance_entries(given) == [
        ("seed", "3"), ("wall time", "0.125"), ("versions", "a 1, b 2.5"),
        ("levels", "0.123457, –"), ("none", "–"), ("on", "True"),
    ]  # fmt: skip


def test_texts_in_a_script_cannot_end_it():
    text = html_page.inline_json({"a": "</script><!--&", "b": [1, 0.5]})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": "</script><!--&", "b": [1, 0.5]}
    with pytest.raises(ValueError, match="Out of range"):
        html_page.inline_json(NAN)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("a = 1 # <b>", '<span class="key">a</span> = <span class="number">1</span> '
                        '<span class="comment"># &lt;b&gt;</span>'),
        ("x = { b = inf }", '<span class="key">x</span> = {<span class="key"> b</span> = '
                            '<span class="number">inf</span> }'),
        ("\n= 1\n", '\n= <span class="number">1</span>\n'),
        ("[t]\n", '<span class="table">[t]</span>\n'),
        ("n = a1", '<span class="key">n</span> = a1'),
        ("s = '<i>'", '<span class="key">s</span> = '
                      '<span class="text">&#x27;&lt;i&gt;&#x27;</span>'),
    ],
)  # fmt: skip
def test_toml_is_marked_part_by_part(text, marked):
    assert html_page.highlight_toml(text) == marked


def test_a_page_escapes_what_it_is_given_and_misses_nothing():
    """A block takes no line of its own, also where lines are shown as they are."""
    pages = html_page._environment(html_page.TEMPLATES)
    template = pages.from_string("<pre>{% if text %}\n{{ text }}\n{% endif %}\n</pre>")
    assert template.render(text="<i>&") == "<pre>&lt;i&gt;&amp;\n</pre>"
    with pytest.raises(UndefinedError, match="'text' is undefined"):
        pages.from_string("{{ text }}").render()


@pytest.mark.parametrize("moves", [False, True])
def test_a_page_may_run_its_own_scripts_and_no_others(moves):
    context = run_page_context()
    head = {"notes": ["<b>"], "time": [2, 1, 0]}
    scene = PageData(head, "", "<svg></svg>") if moves else None
    page = html_page.render("report.html.j2", context, scene)
    policy = re.search(r'content="(default-src[^"]*)"', page)[1].replace("&#39;", "'")
    codes = [(html_page.TEMPLATES / name).read_bytes() for name in html_page.SCRIPTS if moves]
    digests = [base64.b64encode(hashlib.sha256(code).digest()).decode() for code in codes]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    assert ('<p class="caption">&lt;b&gt;</p>' in page) == moves
    assert page.count("<script>") == len(codes)
    assert (html_page.TEMPLATES / "page.css").read_text(encoding="utf-8").strip()[:40] in page
    assert installed_version() in page
    with pytest.raises(Exception, match="has no attribute 'robot'"):
        html_page.render("report.html.j2", {**context, "names": {}})


def run_page_context():
    belief = SimpleNamespace(verdict="ok", level="good", reasons=())
    return {
        "title": "<i>", "names": {"robot": "", "controller": "", "scenario": ""}, "status": "s",
        "status_level": "good", "belief": belief, "headline": "h", "source": "", "contents": [],
        "tiles": [], "verdicts": [], "figures": [], "metrics": {"columns": [], "rows": []},
        "blocks": None, "differences": None, "audit": [], "scenario": "", "provenance": [],
    }  # fmt: skip


def picture(name):
    return html_page.PageFigure(name, name, "", "<svg></svg>", {"png": name.encode()})


def test_a_page_knows_the_shape_of_its_figures_before_it_draws_them():
    drawn = picture("a")._replace(svg='<svg viewBox="0 0 691.2 338.4" role="img"></svg>')
    assert drawn.shape == "691.2 / 338.4"
    assert picture("a").shape == "auto"


def test_the_files_of_a_page_replace_those_of_an_earlier_one(tmp_path):
    for name in ("old.png", "old.pdf", "new.svg"):
        (tmp_path / name).touch()
    (tmp_path / "mine.png").touch()
    run_id = "1" * 32
    texts = {"data.json": "{}", "cards/a.toml": "x = 1", "page.html": "<html></html>"}
    page = html_page.write_page(
        "the page", tmp_path, texts, [picture("new")], ["old", "new", "never"], run_id
    )
    assert page == tmp_path / "page.html"
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert names == {"data.json", "cards/a.toml", "page.html", "new.png", "mine.png"}
    assert run_id in (tmp_path / "cards" / "a.toml").read_text()
    html_page.write_page("the page", tmp_path, texts, [])
    assert html_page.run_id_of_texts(texts.values()) in (tmp_path / "cards" / "a.toml").read_text()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write the page to"):
        html_page.write_page("the page", tmp_path / "file", texts, [])


def test_a_report_of_a_run_bears_the_runs_own_mark(helix, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(run_page, "page_figures", lambda result: [picture("errors")])
    monkeypatch.setattr(
        run_page.html_page, "write_page", lambda *given: asked.append(given) or tmp_path
    )
    result = helix()
    assert run_page.write_report(result, tmp_path) == tmp_path
    ((what, folder, texts, images, known, run_id),) = asked
    assert (what, folder, list(texts)) == ("the report", tmp_path, ["report.html"])
    assert [image.name for image in images] == ["errors"]
    assert known == run_page.plot.FIGURES
    assert run_id == run_page.run_id_of_result(result.provenance)


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        ("robot", "robot", "<span><b>robot</b></span>"),
        ("controller", "controller", "<span><b>controller</b></span>"),
        ("robot", "scara", "<span>robot <b>scara</b></span>"),
        ("scenario", "<i>", "<span>scenario <b>&lt;i&gt;</b></span>"),
        ("robot", "", ""),
    ],
)
def test_what_is_named_as_its_kind_is_not_said_twice(kind, name, shown):
    pages = html_page._environment(html_page.TEMPLATES)
    macro = '{% from "macros.html.j2" import named %}{{ named(kind, name) }}'
    assert pages.from_string(macro).render(kind=kind, name=name) == shown


@pytest.mark.parametrize(("kind", "told"), [("compared", ["m", "rad"]), ("", [])])
def test_a_compared_table_keeps_units_with_the_names_for_phones(kind, told):
    columns = TableColumn("metric", "name"), TableColumn("unit", "unit"), TableColumn("pd")
    rows = [["rms_phi.tool", "m", "1"], ["rms_phi.tilt", "rad", "2"], ["status", "", "completed"]]
    pages = html_page._environment(html_page.TEMPLATES)
    macro = '{% from "macros.html.j2" import table %}{{ table(entry, kind) }}'
    text = pages.from_string(macro).render(entry=ReportTable.from_rows(columns, rows), kind=kind)
    assert re.findall(r'data-unit="(.*?)"', text) == told
    assert '<th class="unit">unit</th>' in text


def _lightness(scheme, name):
    """Return the relative luminance of WCAG 2.2 of one of the page's colours."""
    text = re.search(rf"{name}: #(..)(..)(..);", scheme).groups()
    linear = [(int(part, 16) / 255.0) ** 2.2 for part in text]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_dark_parts_of_a_robot_stand_out_from_the_stage_in_the_dark():
    """The near-black of motors and grippers, and light links, from the middle of the stage."""
    css = (html_page.TEMPLATES / "page.css").read_text()
    dark = css.split("prefers-color-scheme: dark", 1)[1]
    sky, links, squares = (_lightness(dark, name) for name in ("--sky", "--robot", "--squares"))
    assert (sky + 0.05) / 0.06 > 1.5  # of parts of luminance 0.01
    assert (links + 0.05) / (sky + 0.05) > 3.0
    assert (squares + 0.05) / (sky + 0.05) > 1.3
