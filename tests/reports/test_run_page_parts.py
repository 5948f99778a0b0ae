"""The parts of a run's page: every number that a reader sees first, from runs made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.core.verdict import Verdict
from ukctrl.reports import run_page
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result

T = np.linspace(0.0, 10.0, 101)


def tiles(result):
    return {tile.name: tuple(tile)[1:] for tile in run_page.key_numbers(result)}


def test_the_first_numbers_of_a_run_with_a_task(helix):
    assert tiles(helix()) == {
        "motion": ("20", "s", "simulated in 1.9 s"),
        "largest error": ("20", "mm", "in 'tool'; 8 mrad in 'tilt'"),
        "error at the end": ("135", "µm", "in 'tool'; 53.9 µrad in 'tilt'"),
        "settled after": ("15.6", "s", "to 2 % of the initial error"),
        "largest input": ("4.91", "N", "by 'u4'"),
        "work": ("3.36", "J", "energy that flows back is not subtracted"),
    }
    assert tiles(helix(0)) == {}


def test_a_run_that_does_not_settle_and_costs_no_known_work(rows):
    found = tiles(rows(T, 1e-3 + 0.0 * T, u=np.zeros((len(T), 0))))
    assert found["settled after"] == ("not yet", "", "to 2 % of the initial error")
    assert found["largest error"] == ("1", "mm", "norm of all rows")
    assert "largest input" not in found
    assert "work" not in found


def test_a_run_that_begins_on_its_path_has_nothing_to_settle(rows):
    found = tiles(rows(T, 1e-3 * np.sin(0.05 * np.pi * T)))
    assert "settled after" not in found
    assert found["rms error"][1] in ("mm", "µm")


def test_rows_of_velocities_alone_are_shown_by_their_velocities(rows):
    found = tiles(rows(T, np.nan * T, beta=0.02 * np.ones((len(T), 1))))
    assert found["largest error"] == ("20", "mm/s", "norm of all rows")


def test_of_three_blocks_the_norm_is_shown(rows):
    phi = np.column_stack([3e-3 + 0 * T, 4e-3 + 0 * T, 0 * T])
    found = tiles(rows(T, phi, blocks=["a", "b", "c"], units=["m", "rad", "m"]))
    assert found["largest error"] == ("0.005", "m, rad", "norm of all rows")


def test_the_first_numbers_of_free_motion_are_whether_it_can_be_believed():
    labels = Labels(passive_rows=("loop.x",), passive_row_units=("m",))
    run = Result.build(
        time=T, status="completed", labels=labels,
        samples={
            "energy": 2.0 + 1e-4 * T, "supplied_energy": 0.0 * T,
            "passive_phi": 2e-6 * np.ones((len(T), 1)),
        },
    )  # fmt: skip
    assert tiles(run) == {
        "motion": ("10", "s", ""),
        "energy": ("2", "J", "at the start"),
        "energy drift": ("1", "mJ", "at worst"),
        "closures open by": ("2", "µm", "at worst"),
    }


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.1, "m", ("0.1", "m")), (0.099, "m", ("99", "mm")), (-0.02, "rad", ("−20", "mrad")),
        (0.0, "m", ("0", "m")), (1e-12, "m", ("1", "pm")), (0.5e-12, "m", ("5×10⁻¹³", "m")),
        (0.02, "m, rad", ("0.02", "m, rad")), (np.nan, "m", ("–", "m")),
    ],
)  # fmt: skip
def test_a_number_has_a_prefix_where_that_reads_better(value, unit, shown):
    assert tuple(run_page._tile("a", value, unit, ""))[1:3] == shown


def test_what_loading_a_robot_found_is_listed_the_worst_first():
    audit = [
        {"level": "note", "code": "visual", "message": "no visual is read."},
        {"level": "error", "subject": "link", "message": "it has no mass"},
        {"level": "warning", "message": "it is large"},
    ]
    assert run_page._audit({"audit": audit}) == [
        Verdict("bad", "link", "It has no mass."), Verdict("warning", "robot", "It is large."),
        Verdict("note", "visual", "No visual is read."),
    ]  # fmt: skip
    assert run_page._audit({}) == []
