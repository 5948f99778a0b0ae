"""The stored study behind the gallery's page can be repeated, sample by sample."""

import subprocess
import sys
from pathlib import Path

import pytest
from extras import needs

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "gallery" / "robustness_study" / "study.py"


def check(count):
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--check", str(count)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@needs("pandas")
def test_a_few_samples_of_the_study_come_out_as_stored():
    done = check(4)
    assert done.returncode == 0, done.stdout + done.stderr


@needs("pandas")
@pytest.mark.slow
def test_many_samples_of_the_study_come_out_as_stored():
    done = check(150)
    assert done.returncode == 0, done.stdout + done.stderr
