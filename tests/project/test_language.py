"""The repository speaks of the project alone: it holds on every machine, whoever runs it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VENDORED = ("docs/assets/iframe-worker/", "docs/assets/katex/")

FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/(?:home|root|tmp|work|opt|Users|mnt)/[\w.]",
    "a file address": r"file:/{2,}",
    "a package registry's address": (
        r"\b(?:test\.)?pypi\.(?:org|python\.org)\b|files\.pythonhosted\.org|registry\.npmjs\.org"
        r"|\bindex-url\b|\bfind-links\b|\btrusted-host\b"
    ),
    "an address inside a private network": r"https?://(?:localhost|\d{1,3}(?:\.\d{1,3}){3})",
}


def project_files() -> list[Path]:
    """Return the files that belong to the project: tracked, or about to be."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: only git knows which files belong to the project")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    return [
        ROOT / name
        for name in names
        if not name.startswith(VENDORED) and (ROOT / name) != Path(__file__)
    ]


def text_of(path: Path) -> str:
    """Return a file's text; nothing for pictures and for files deleted but not yet committed."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return ""


@pytest.mark.slow(only=["a package registry's address", "a path of one machine"])
@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_mentions(what):
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in project_files()
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if pattern.search(line)
    ]
    assert not found, f"these lines mention {what}:\n" + "\n".join(found)


def test_constraints_are_names_and_exact_versions_only():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    wrong = [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line)]
    assert pins
    assert not wrong
    assert pins == sorted(pins, key=str.lower)
