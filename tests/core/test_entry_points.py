"""Parts of other distributions: found by their entry points, and left out where they are broken."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ukctrl import Controller
from ukctrl.core import entry_points
from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.errors import PartWarning

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-a-part.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```text title="acme-laws/([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
BLOCKS = dict(BLOCK.findall(PAGE))
((GROUP, DECLARED),) = re.findall(r'entry-points\."([\w.]+)"\]\n(.+)', BLOCKS["pyproject.toml"])
MODULE = BLOCKS["acme_laws.py"]


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Install a distribution that declares parts, of a module with some text."""

    def install(text: str, *lines: str) -> Path:
        metadata = tmp_path / "acme_laws-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-laws\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text("\n".join((f"[{GROUP}]", *lines)))
        (tmp_path / "acme_laws.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "acme_laws", raising=False)
        monkeypatch.setattr(entry_points, "OWN", {})
        entry_points._all_entry_points.cache_clear()
        return tmp_path

    yield install
    entry_points._all_entry_points.cache_clear()


def test_a_part_of_another_distribution_stands_after_ours(distribution):
    distribution(MODULE, DECLARED.replace('"', ""))
    found = with_entry_points("controller", Controller, {"none": Controller})
    assert list(found) == ["none", "brake"]
    assert found["brake"].__module__ == "acme_laws"
    assert entry_points.part_distributions() == {"acme-laws": "1.0"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("", "AttributeError: module 'acme_laws' has no attribute 'Brake'"),
        ("Brake = 3", 'derives from Controller, is decorated with spec, and says kind: Literal["'),
        (MODULE.replace('    kind: Literal["brake"] = "brake"\n', ""), 'says kind: Literal["its_'),
        (MODULE.replace('Literal["brake"]', "str"), 'says kind: Literal["its_name"] = "its_name"'),
        (MODULE.replace("@spec", ""), "is decorated with spec"),
        (MODULE.replace('"brake"', '"taken"'), "kind 'taken' is that of Controller"),
    ],
    ids=["import", "exit", "absent", "no class", "no kind", "open kind", "no spec", "taken"],
)
def test_one_sentence_says_of_a_broken_part_whose_it_is_and_why(distribution, text, reason):
    distribution(text, "brake = acme_laws:Brake")
    ours = {"taken": Controller}
    with pytest.warns(PartWarning) as said:
        assert with_entry_points("controller", Controller, ours) == ours
    (message,) = (str(one.message) for one in said)
    place = "entry point 'brake' of group 'ukctrl.controller' in distribution 'acme-laws'"
    assert message.startswith(f"{place} is left out: ")
    assert reason in message
    assert message.endswith(".")
    assert message.count("\n") == 0


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(folder), str(ROOT)))
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=300, cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


@pytest.mark.slow
def test_a_file_may_name_the_kind_of_another_distribution(distribution):
    folder = distribution(MODULE, DECLARED.replace('"', ""), "broken = acme_laws:Missing")
    changes = "--set", 'controller={kind="brake",gain=2.0}', "--set", "timing.duration=0.05"
    ran = run(folder, "-m", "ukctrl.cli", "run", "scara-helix", *changes, "--json")
    assert ran.returncode in (0, 1), ran.stderr
    assert json.loads(ran.stdout)["status"] == "completed"
    assert "entry point 'broken' of group 'ukctrl.controller' in" in " ".join(ran.stderr.split())
    # its module may be what imports ukctrl
    same = "import acme_laws; from ukctrl import part_kinds; print(acme_laws.Brake in "
    same += "{*acme_laws.Controller.__subclasses__()}, part_kinds()['controller']['brake'])"
    first = run(folder, "-W", "ignore", "-c", same)
    assert first.stdout == "True Brake every motor by its speed.\n", first.stderr
