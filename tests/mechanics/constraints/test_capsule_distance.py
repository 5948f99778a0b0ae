"""Rows of two capsules: which there are, and how far apart the axes and their ends are."""

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.capsule_distance import Capsule, CapsuleDistance

ROBOT = Robot.load("two_link")
BALL = {"frame": "tool", "radius": 0.02}
LONG = BALL | {"start": (0.0, 0.01, 0.0), "end": (0.0, 0.02, -0.3)}
POST = {"frame": "world", "start": (0.4, 0.3, 0.0), "end": (0.4, 0.35, 0.6), "radius": 0.1}
STONE = {"frame": "world", "start": (0.4, 0.3, 0.1), "radius": 0.1}
ALL = ("", "first_start", "first_end", "second_start", "second_end")


def to_segment(point, begin, end):
    """Return how far a point is from a segment."""
    along = end - begin
    share = np.clip((point - begin) @ along / max(along @ along, 1e-300), 0.0, 1.0)
    return np.linalg.norm(point - begin - share * along)


def axis(s, capsule):
    """Return where the ends of a capsule's axis are."""
    frame = s.frame(capsule["frame"])
    begin = capsule.get("start", (0.0, 0.0, 0.0))
    for end in (begin, capsule.get("end", begin)):
        yield frame.position + frame.rotation @ np.array(end)


@pytest.mark.parametrize(
    ("first", "second", "rows"),
    [(BALL, STONE, ALL[:1]), (LONG, STONE, ALL[:1]), (BALL, POST, ALL[:1]), (LONG, POST, ALL)],
)
@pytest.mark.parametrize("seed", range(3))
def test_ends_have_rows_where_both_are_long(first, second, rows, seed):
    s = ROBOT.snapshot(ROBOT.random(np.random.default_rng(seed)))
    spec = CapsuleDistance(first=Capsule(**first), second=Capsule(**second), radius=0.15)
    stack = Stack([spec], ROBOT)
    assert stack.names == tuple(f"tool_to_world.{row}" for row in rows)
    a0, a1, b0, b1 = (place for capsule in (first, second) for place in axis(s, capsule))
    ends = [to_segment(a, b0, b1) for a in (a0, a1)] + [to_segment(b, a0, a1) for b in (b0, b1)]
    grid = np.linspace(0.0, 1.0, 400)[:, None]
    between = min(to_segment(a, b0, b1) for a in a0 + grid * (a1 - a0))
    phi = stack.write(s).phi
    assert phi[0] + 0.15 == pytest.approx(between, abs=1e-4)
    assert phi[0] + 0.15 <= min(ends) + 1e-12
    if len(rows) > 1:
        np.testing.assert_allclose(phi[1:] + 0.15, ends, rtol=0.0, atol=1e-12)
