"""Paths that no timing passes, and rows that follow another clock, refused in whole sentences."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression
from ukctrl.mechanics.timing import GeometricPath
from ukctrl.robot import Lagrangian, Options, Robot
from ukctrl.simulation.assemble.retimed_rows import _require_one_clock, _require_regular

S = np.linspace(2.0, 3.0, 101)
PAIR = Robot.build(
    Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="v.x**2 + v.y**2", potential="0*x",
               parameters={}),
    Options(),
)  # fmt: skip


def path(x, rate, bend):
    """Return the path of two joints, of which the second stands."""
    columns = (np.column_stack([part * np.ones(101), np.zeros(101)]) for part in (x, rate, bend))
    return GeometricPath(S, *columns)


def test_a_path_that_moves_smoothly_all_the_way_passes():
    _require_regular(path(S**2, 2.0 * S, 2.0))
    _require_regular(path(-S, -1.0, 0.0))
    slow = 1.1e-4 + (S - 2.0) ** 2
    _require_regular(path(0.0, slow, 2.0 * (S - 2.0)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0.0, 0.0, 0.0), "must have a length; no joint moves along it."),
        ((0.0, 0.9e-9, 0.0), "must have a length; no joint moves along it."),
        (
            ((S - 2.5) ** 3, 3.0 * (S - 2.5) ** 2, 6.0 * (S - 2.5)),
            "must move all the way; it stands still at s = 2.5, where no clock can hurry it. Take "
            "a path that does not stop: profile = 'uniform' of a line or of orientations, a spline "
            "with ends = 'natural' in place of min_jerk.",
        ),
        (
            (np.abs(S - 2.505), np.sign(S - 2.505), 0.0),
            "must be without corners; near s = 2.5 the joints would have to change their velocity "
            "at once. Round the corner, keep away from singular positions, or take more points.",
        ),
    ],
)  # fmt: skip
def test_a_path_that_no_timing_passes_is_refused(given, message):
    with pytest.raises(InputError) as caught:
        _require_regular(path(*given))
    assert str(caught.value) == f"servo: retimed path: {message}"


@pytest.mark.parametrize(("jump", "passes"), [(0.04, True), (0.06, False)])
def test_a_small_jump_of_the_rate_is_no_corner(jump, passes):
    rate = np.where(S > 2.505, 1.0, 1.0 - jump)
    if passes:
        _require_regular(path(0.0, rate, 0.0))
    else:
        with pytest.raises(InputError, match="without corners"):
            _require_regular(path(0.0, rate, 0.0))


@pytest.mark.parametrize(
    ("phi", "moves"),
    [("x - 0.5", False), ("x + y - 1e-10*t", False), ("y - 0.2*t", True), ("y - 0*x - t**2", True)],
)
def test_rows_that_go_by_the_time_are_refused_beside_retimed_ones(phi, moves):
    rows = [Expression(name="still", phi="x - 1"), Expression(name="row", phi=phi)]
    if not moves:
        _require_one_clock(rows, PAIR, (0.0, 2.0))
        return
    with pytest.raises(InputError) as caught:
        _require_one_clock(rows, PAIR, (0.0, 2.0))
    assert str(caught.value) == (
        "servo row 'row' must follow the same clock as the retimed ones; its path goes by the "
        "time. Retime it too, or let it be constant."
    )


def test_where_all_rows_are_retimed_none_follows_the_time():
    _require_one_clock([], PAIR, (0.0, 2.0))
