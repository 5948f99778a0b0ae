"""Adaptive methods at singular positions of linkages: they pass, or end by themselves.

Three cranks of a parallelogram linkage move as one pendulum, whose angle is known in closed form.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.mechanics.integrate.integrator import IntegrationFailed
from ukctrl.mechanics.integrate.step_over import MOST_STUCK, StepOver
from ukctrl.papers import parallelogram

CASE = Path(__file__).parent / "integrators" / "nfourbar.toml"
SQUARE = 9.81 * (3 / 2 + 2) / (3 / 3 + 2)
"""Of three cranks and two couplers of 1 kg and 1 m [1/s^2]."""


def turned(changes, kind):
    wanted = {"stabilisation.kind": kind, **changes}
    return simulate(Scenario.load(CASE, wanted))


@pytest.mark.parametrize("kind", ["baumgarte", "projection"])
@pytest.mark.parametrize(
    ("rtol", "atol"),  # [rad]: errors of a pendulum that nearly stands still upright, once a turn
    [(1e-6, 3e-4), (1e-9, 3e-5), (1e-10, 3e-6), (1e-12, 3e-6)],
)
def test_a_linkage_passes_its_singular_positions_as_one_pendulum(rtol, atol, kind):
    run = turned({"integrator.rtol": rtol, "integrator.atol": 0.1 * rtol}, kind)
    assert run.status == "completed", run.message
    exact, _ = parallelogram.swing(run.time, SQUARE, 0.5 * np.pi, -1.0)
    assert np.ptp(exact) > 4.0 * np.pi  # aligned twice a turn
    off = np.abs(run["q"][:, 0] - (0.5 * np.pi - exact))
    assert off[-1] < atol, off[-1]


def test_a_method_that_finds_no_way_across_ends_and_says_where_and_what_to_do(monkeypatch):
    monkeypatch.setattr(StepOver, "_across", lambda self, trouble: None)
    run = turned({"integrator.rtol": 1e-12, "integrator.atol": 1e-13}, "projection")
    assert run.status == "diverged"
    for words in (f"took {MOST_STUCK} of them", "singular position", "c0 = ", "method = 'RK4'"):
        assert words in run.message


class Crawling:
    """A solver whose steps are all of one length."""

    def __init__(self, h):
        self.status, self.t_old, self.t, self.h = "running", 0.0, 0.0, h
        self.y_old = self.y = np.array([0.25, 1.0])

    def step(self):
        self.t_old, self.t = self.t, self.t + self.h


def test_so_many_steps_that_hardly_move_on_end_a_run():
    over = StepOver(lambda *_: None, lambda t, y: y, ("a",), 1.0, 0.1)
    solver = Crawling(1e-12)
    for _ in range(MOST_STUCK - 1):
        solver.step()
        over.watch(solver)
    solver.step()
    with pytest.raises(IntegrationFailed, match=r"closures, a = 0\.25, which"):
        over.watch(solver)
    np.testing.assert_allclose(solver.t, MOST_STUCK * 1e-12, rtol=1e-9)
