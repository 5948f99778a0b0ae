"""The report: self-contained, safe whatever a file says, and made from the files alone."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from ukctrl.core.errors import InputError
from ukctrl.reports import html_page, plot, run_page
from ukctrl.reports.scene.run_scene import run_scene
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result, SignalSeries

HOSTILE = (
    """</script><script>alert(1)</script><img src=x onerror="alert(2)">'"&{{7*7}}{%x%}]]>-->"""
)


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self._in_script = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._in_script = tag == "script"

    def handle_data(self, data):
        if self._in_script:
            self.scripts.append(data)

    def handle_endtag(self, tag):
        self._in_script = False


def html(result):
    scene = html_page.embed_scene(run_scene(result))
    return run_page.html(result, run_page.page_figures(result), scene)


@pytest.fixture(scope="module")
def text(helix):
    """The page of an ordinary run."""
    return html(helix())


@pytest.mark.slow
def test_the_page_asks_nothing_of_anybody(text):
    for tag, attributes in Elements(text).found:
        for name in ("src", "srcset", "data", "poster", "action", "background"):
            assert name not in attributes, (tag, attributes)
        for name in ("href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#"), (tag, attributes)
        assert tag not in ("link", "iframe", "object", "embed", "base", "img"), tag


def test_the_style_of_the_page_fetches_nothing():
    text = (html_page.TEMPLATES / "page.css").read_text(encoding="utf-8")
    assert "@import" not in text
    assert "url(" not in text


@pytest.mark.slow
def test_the_page_allows_no_script_but_its_own(text):
    elements = Elements(text)
    policy = next(a["content"] for _, a in elements.found if "http-equiv" in a)
    assert "default-src 'none'" in policy
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    run = elements.scripts[-len(html_page.SCRIPTS) :]
    digests = [hashlib.sha256(script.encode()).digest() for script in run]
    assert allowed == [base64.b64encode(digest).decode() for digest in digests]
    data = {a["id"]: a["type"] for tag, a in elements.found if tag == "script" and "id" in a}
    assert data == {"scene-head": "application/json", "scene-block": "text/plain"}


def hostile(n=3):
    """Return a run in which every text that a stranger's file may hold is an attack."""
    labels = Labels(
        coordinates=[HOSTILE],
        coordinate_units=[HOSTILE],
        dofs=[HOSTILE],
        dof_units=[HOSTILE],
        actuators=[HOSTILE],
        actuator_units=[HOSTILE],
        effort_limit=[1.0],
        rows=[HOSTILE, HOSTILE],
        row_units=[HOSTILE, "m"],
        row_blocks=[HOSTILE, "b"],
        passive_rows=[HOSTILE],
        passive_row_units=[HOSTILE],
        frames=[HOSTILE, HOSTILE],
    )
    t = np.linspace(0.0, 1.0, n)
    samples = {
        "q": t[:, None],
        "v": t[:, None],
        "a": t[:, None],
        "u": t[:, None],
        "phi": np.stack([t, t], axis=1),
        "beta": np.stack([t, t], axis=1),
        "passive_phi": t[:, None],
        "energy": t,
        "frame_position": np.tile(t[:, None, None], (1, 2, 3)),
        "rank": 0 * t,
        "reach": t,
    }
    table = {HOSTILE: HOSTILE, "nested": [{"kind": HOSTILE, "x": {HOSTILE: [HOSTILE]}}]}
    named = {"scenario": HOSTILE, "robot": HOSTILE, "controller": HOSTILE}
    return Result.build(
        time=t,
        samples=samples,
        labels=labels,
        status="interrupted",
        message=HOSTILE,
        signals={"s": SignalSeries(values=t, units=HOSTILE, long_name=HOSTILE)},
        scenario={**table, "title": HOSTILE, "source": HOSTILE, "controller": table},
        provenance={
            **named,
            **table,
            "versions": {HOSTILE: HOSTILE},
            "gains": HOSTILE,
            "audit": [{"level": HOSTILE, "code": HOSTILE, "subject": HOSTILE, "message": HOSTILE}],
        },
    )


def assert_harmless(text):
    elements = Elements(text)
    for tag, attributes in elements.found:
        assert tag != "img", attributes
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
    assert "alert(1)" not in "".join(
        script for script in elements.scripts if "</script>" in script.lower()
    )
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    data = [
        {"type": "application/json", "id": "scene-head"},
        {"type": "text/plain", "id": "scene-block"},
    ]
    assert scripts in ([], [*data, *({} for _ in html_page.SCRIPTS)])
    assert "{{7*7}}" in text  # not worked out by the template either


@pytest.mark.slow
def test_no_text_of_a_stranger_becomes_part_of_the_page():
    text = html(hostile())
    assert_harmless(text)
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.slow
def test_texts_inside_the_script_data_stay_data():
    result = hostile()
    text = html(result)
    data = next(s for s in Elements(text).scripts if s.startswith("{"))
    assert json.loads(data)["curves"][0]["name"] == result.labels.frames[0]


@pytest.mark.slow
def test_the_page_is_made_again_from_the_saved_files(text, helix, tmp_path):
    helix().save(tmp_path)
    assert html(Result.load(tmp_path)) == text


@pytest.mark.slow
@pytest.mark.painted
def test_the_files_beside_the_page_are_its_figures(helix, tmp_path):
    result = helix()
    target = run_page.write_report(result, tmp_path / "new" / "folder")
    names = {path.name for path in target.parent.iterdir()}
    assert names == {"report.html", *(f"{name}.png" for name in plot.available(result))}
    assert all((target.parent / name).stat().st_size > 1000 for name in names)


@pytest.mark.slow(but=["0"])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_run_of_few_samples_has_a_report(helix, n):
    text = html(helix(n, status="interrupted", message="stopped by the user."))
    assert "interrupted" in text
    assert "topped by the user." in text


def test_a_run_of_nothing_has_a_report():
    nothing = Result.build(time=[], samples={}, labels=Labels(), status="interrupted")
    text = html(nothing)
    assert "no sample was recorded" in text
    assert "The run recorded nothing that can be drawn" in text


@pytest.mark.slow
def test_a_large_robot_has_a_report(humanoid):
    text = html(humanoid)
    assert len(text) < 3_000_000
    for name in plot.available(humanoid):
        assert f'id="{name}"' in text


def test_the_report_says_what_its_contract_promises(text, helix):
    for metric in helix().metrics:
        assert metric.split(".")[0] in text
    for part in (
        "SCARA tool follows a helix",
        "After Xu &amp; Liu 2017",
        "8 mrad in &#39;tilt&#39;",
        "has no effort limit",
        "31234",
        "numpy 2.4.6",
        '<span class="key">duration</span> = <span class="number">20.0</span>',
    ):
        assert part in text, part


def test_findings_of_the_audit_stand_worst_first(text):
    assert text.index("has no effort limit") < text.index("No visual is read")


def test_units_stand_beside_the_values(text):
    assert ">m, rad<" in text
    assert ">(N·m, N)²·s<" in text


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_an_input_error(helix, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="cannot write the report to"):
        run_page.write_report(helix(2), tmp_path / "taken")


@pytest.mark.parametrize(
    ("toml", "marked"),
    [
        ('x = "a # b"', '<span class="text">&quot;a # b&quot;</span>'),
        ("x = 1.5e-9 # why", '<span class="comment"># why</span>'),
        ("[[servo]]", '<span class="table">[[servo]]</span>'),
        ("q1 = -0.1", '<span class="number">-0.1</span>'),
        ("on = true", '<span class="number">true</span>'),
        ('x = "<b>"', "&quot;&lt;b&gt;&quot;"),
    ],
)
def test_toml_is_marked_and_escaped(toml, marked):
    assert marked in html_page.highlight_toml(toml)


def test_marking_toml_loses_no_character(helix):
    from html import unescape

    from ukctrl.simulation.result.atomic_files import toml_text

    text = toml_text(hostile().scenario) + toml_text(helix(2).scenario)
    assert unescape(re.sub(r"<[^>]*>", "", html_page.highlight_toml(text))) == text
