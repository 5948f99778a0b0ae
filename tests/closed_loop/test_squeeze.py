"""Two arms squeeze a bar: the force that is held is the force that Newton and Euler find."""

import numpy as np
import pytest

from ukctrl import Scenario, simulate

SQUEEZE = "coordinated-arms-squeeze"
DOWN = np.array([0.0, -9.8])


@pytest.fixture(scope="module")
def squeezed():
    return simulate(Scenario.load(SQUEEZE))


@pytest.fixture(scope="module")
def relaxed():
    return simulate(Scenario.load(SQUEEZE, {"controller.allocation.null_space": None}))


def cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


class Link:
    """A rod of length 1, mass 1 and moment 1 that points along an absolute angle."""

    def __init__(self, begin, angle, rate, acceleration):
        self.turning = acceleration
        along = np.stack((np.cos(angle), np.sin(angle)), axis=1)
        across = np.stack((-np.sin(angle), np.cos(angle)), axis=1)
        bend = across * acceleration[:, None] - along * (rate**2)[:, None]
        self.begin, self.begin_acceleration = begin
        self.end = (self.begin + along, self.begin_acceleration + bend)
        self.centre = self.begin + along / 2
        self.acceleration = self.begin_acceleration + bend / 2

    def moment(self, about):
        """Rate of the angular momentum about a point at rest, or about itself, less gravity's."""
        return self.turning + cross(self.centre - about, self.acceleration - DOWN)


def end_forces(run):
    """Forces of the arms on the bar, left and right, from their own equations of motion alone."""
    total = np.array(
        [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 1, 1.0], [0, 0, 0, 1, 0]]
    )
    angle, rate, acceleration = (run[name] @ total.T for name in ("q", "v", "a"))
    u = run["u"]
    still = np.zeros((len(u), 2))
    one = Link((still, still), *(x[:, 0] for x in (angle, rate, acceleration)))
    two = Link(one.end, *(x[:, 1] for x in (angle, rate, acceleration)))
    bar = Link(two.end, *(x[:, 2] for x in (angle, rate, acceleration)))
    base = (np.tile([3.0, 0.0], (len(u), 1)), still)
    five = Link(base, angle[:, 4] + np.pi, rate[:, 4], acceleration[:, 4])
    four = Link(five.end, angle[:, 3] + np.pi, rate[:, 3], acceleration[:, 3])
    left = _tip_force(one, two, u[:, 1] - u[:, 2], u[:, 0] - u[:, 2])
    right = _tip_force(five, four, u[:, 4] - u[:, 3], u[:, 5] - u[:, 3])
    return bar, -left, -right


def _tip_force(lower, upper, elbow, base):
    """Force on an arm's tip: moments of the upper link about the elbow, of both about the base."""
    tip = upper.end[0]
    arms = [tip - upper.begin, tip - lower.begin]
    missing = [
        upper.moment(upper.begin) - elbow,
        lower.moment(lower.begin) + upper.moment(lower.begin) - base,
    ]
    rows = np.array([[-arm[:, 1], arm[:, 0]] for arm in arms]).transpose(2, 0, 1)
    return np.linalg.solve(rows, np.array(missing).T[:, :, None])[:, :, 0]


def test_the_bar_is_squeezed_with_the_force_that_was_asked_for(squeezed):
    _, left, right = end_forces(squeezed)
    np.testing.assert_allclose(right[:, 0], -20.0, rtol=0.0, atol=1e-9)  # the bar is level
    np.testing.assert_allclose(left[:, 0], 20.0, rtol=0.0, atol=1e-9)


def test_the_forces_on_the_bar_are_those_that_move_it(squeezed):
    bar, left, right = end_forces(squeezed)
    u = squeezed["u"]
    np.testing.assert_allclose(left + right + DOWN, bar.acceleration, rtol=0.0, atol=1e-9)
    turning = u[:, 2] + u[:, 3] + cross(bar.begin - bar.centre, left)
    turning = turning + cross(bar.end[0] - bar.centre, right)
    np.testing.assert_allclose(turning, bar.turning, rtol=0.0, atol=1e-9)


def test_the_squeeze_does_not_disturb_the_task(squeezed, relaxed):
    assert squeezed.status == relaxed.status == "completed"
    np.testing.assert_allclose(squeezed["q"], relaxed["q"], rtol=0.0, atol=1e-9)
    for run in (squeezed, relaxed):
        assert run.metric("peak_phi") < 1e-8
        assert run.metric("peak_passive_phi") < 1e-8
    assert np.abs(squeezed["u"] - relaxed["u"]).max() > 5.0


def test_a_squeeze_may_follow_a_path():
    path = {"kind": "expression", "components": ["20*sin(t)"]}
    changed = {"kind": "internal_force", "rows": ["grip.x"], "path": path}
    run = simulate(Scenario.load(SQUEEZE, {"controller.allocation.null_space": changed}))
    _, left, _ = end_forces(run)
    np.testing.assert_allclose(left[:, 0], 20.0 * np.sin(run["time"]), rtol=0.0, atol=1e-9)
