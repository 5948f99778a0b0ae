"""The numbers on the gallery's pages are those that the code gives today."""

import subprocess
import sys
from pathlib import Path

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"


def test_the_tables_of_the_scara_page_are_up_to_date():
    done = subprocess.run(
        [sys.executable, "make.py", "--check"],
        cwd=GALLERY / "scara_helix",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
