"""The notebook of the tutorials runs, shows what it says, and is small and without outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import module_of

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "in-a-notebook.ipynb"
LARGEST = 50_000
"""Outputs are not kept: a card alone is 0.7 MB [bytes]."""


@pytest.mark.pages
def test_the_notebook_runs_and_shows_cards(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    NotebookClient = pytest.importorskip("nbclient").NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    options = {
        "timeout": 300,
        "kernel_name": "python3",
        "resources": {"metadata": {"path": tmp_path}},
    }
    NotebookClient(notebook, **options).execute()
    cards = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "<iframe sandbox" in output.get("data", {}).get("text/html", "")
    ]
    assert len(cards) == 3  # a run, a comparison, a robot
    said = [o.text for cell in notebook.cells for o in cell.get("outputs", []) if "text" in o]
    assert said == ["completed True\n"]
    images = [
        o
        for cell in notebook.cells
        for o in cell.get("outputs", [])
        if "image/png" in o.get("data", {})
    ]
    assert len(images) == 1
    assert (tmp_path / "out" / "notebook" / "report.html").is_file()


def test_no_outputs_are_kept():
    nbformat = pytest.importorskip("nbformat")

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    assert NOTEBOOK.stat().st_size < LARGEST


def test_its_page_has_every_cell():
    nbformat = pytest.importorskip("nbformat")

    page = module_of(NOTEBOOK.parent / "notebook_pages.py").page(NOTEBOOK)
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        assert cell.source in page
