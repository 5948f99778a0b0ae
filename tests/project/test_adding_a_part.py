"""A new part is one file in the folder of its kind: nothing else has to know of it."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PAGE = ROOT / "docs" / "adding-a-part.md"
HOOK = ROOT / "docs" / "reference" / "parts_list.py"
BLOCK = re.compile(r'^```text title="ukctrl/([\w/]+\.py)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PARTS = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
"""By its place in the package, the file of a part of each kind, as the page shows it."""

ASK = """
import json, runpy, sys
from ukctrl import Scenario, control, effects, simulate, testing
from ukctrl.cli.main import main
from ukctrl.cli.workspace import json_schema
from ukctrl.simulation.result.metrics import describe
text = json.dumps(json_schema("scenario"))
page = runpy.run_path(sys.argv[1])["on_page_markdown"]("<!-- parts -->")
run = Scenario.load("scara-helix", {
    "controller.feedback": {"kind": "velocity_damping", "rate": 3.0},
    "controller.allocation": {"kind": "plain_least_norm"},
    "controller.disturbance": {"kind": "forgetting_observer", "rate": 20.0, "leak": 1.0},
    "effect": [{"kind": "weak_motors", "share": 0.999}],
    "observer": {"kind": "alpha_beta", "share": 0.5},
    "keep": [{"kind": "above_ground", "frame": "tool", "height": -1.0}],
    "timing": {"control": 0.01, "sample": 0.01, "duration": 0.05},
})
result = simulate(run)
remembers = {"kind": "leaky_integral", "alpha": 3.0, "leak": 1.0}
leaky = simulate(run.replace({"controller.feedback": remembers}))
suites = [
    (testing.FEEDBACK, run.replace({"controller.feedback": remembers}).controller.feedback),
    (testing.FEEDBACK, run.controller.feedback),
    (testing.ALLOCATION, run.controller.allocation),
    (testing.DISTURBANCE, run.controller.disturbance),
    (testing.EFFECT, testing.EffectCase(run.effect[0], Scenario.load("scara-helix"))),
    (testing.OBSERVER, testing.ObserverCase(run.observer, Scenario.load("scara-helix"))),
]
for suite, part in suites:
    suite.examine(part, "part").confirm()
print(json.dumps({
    "schema": [name for name in sys.argv[2:] if name in text],
    "page": [name for name in (*sys.argv[2:], "largest_speed") if f"- `{name}`: " in page],
    "metric": describe("largest_speed").description,
    "value": result.metric("largest_speed"),
    "status": [result.status, leaky.status],
    "kept": [result.labels.keep_rows[0], result.metric("worst_margin")],
    "recorded": list(leaky.samples.signals["remembered"].components),
    "rows": list(leaky.samples.labels.rows),
    "remembers": float(abs(leaky["u"] - result["u"]).max()),
    "read": [
        run.controller.feedback.kind, run.controller.allocation.kind,
        run.controller.disturbance.kind, run.effect[0].kind, run.observer.kind,
        run.keep[0].kind,
    ],
}))
main(["list", "parts", "--json"])
"""


def test_the_page_has_a_part_of_every_kind():
    folders = {str(Path(place).parent) for place in PARTS}
    assert folders == {
        "control/allocation", "control/disturbance", "control/feedback", "control/safety",
        "mechanics/constraints",
        "mechanics/reference", "simulation/effects", "simulation/observers",
        "simulation/result/metrics",
    }  # fmt: skip


@pytest.mark.parametrize("text", PARTS.values(), ids=PARTS)
def test_what_a_part_of_the_page_imports_is_there(text):
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("ukctrl"):
            module = importlib.import_module(node.module)
            assert not [name.name for name in node.names if not hasattr(module, name.name)]


@pytest.mark.slow
def test_a_file_in_the_folder_of_its_kind_is_all_that_a_part_takes(tmp_path):
    copy = tmp_path / "ukctrl"
    shutil.copytree(ROOT / "ukctrl", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("robots", "controllers", "scenarios", "ukctrl_laws"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for place, text in PARTS.items():
        assert not (copy / place).exists(), f"{place} is there already; the page needs another name"
        (copy / place).write_text(text, encoding="utf-8")
    names = [Path(place).stem for place in PARTS if "metric" not in place]
    run = subprocess.run(
        [sys.executable, "-c", ASK, HOOK, *names],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    first, _, listed = run.stdout.partition("\n")
    told, sorts = json.loads(first), json.loads(listed)
    assert told["schema"] == names
    assert told["page"] == [*names, "largest_speed"]
    assert not {*names, "largest_speed"} - {name for parts in sorts.values() for name in parts}
    assert told["metric"] == "largest velocity of any joint"
    assert told["value"] > 0.0
    assert told["status"] == ["completed", "completed"]
    assert told["remembers"] > 0.0
    assert told["kept"][0] == "tool"
    assert told["kept"][1] > 0.5
    assert told["recorded"] == told["rows"]
    assert told["read"] == [
        "velocity_damping", "plain_least_norm", "forgetting_observer", "weak_motors",
        "alpha_beta", "above_ground",
    ]  # fmt: skip
