"""Adaptive methods at singular positions of linkages: they pass, or end by themselves.

Three cranks of a parallelogram linkage move as one pendulum, whose angle is known in closed form.
"""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path

import numpy as np
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl.control import NoControl
from ukctrl.mechanics.integrate.integrator import IntegrationFailed
from ukctrl.mechanics.integrate.singularity_crossing import MAX_STALLED_STEPS, SingularityCrossing
from ukctrl.robot import Options
from ukctrl.simulation.scenario import IntegratorOptions, StartState, Timing
from ukctrl_papers import parallelogram

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
    exact, _ = parallelogram.pendulum_motion(run.time, SQUARE, 0.5 * np.pi, -1.0)
    assert np.ptp(exact) > 4.0 * np.pi  # aligned twice a turn
    off = np.abs(run["q"][:, 0] - (0.5 * np.pi - exact))
    assert off[-1] < atol, off[-1]


def test_a_method_that_finds_no_way_across_ends_and_says_where_and_what_to_do(monkeypatch):
    monkeypatch.setattr(SingularityCrossing, "_crossing_solver", lambda self, trouble: None)
    run = turned({"integrator.rtol": 1e-12, "integrator.atol": 1e-13}, "projection")
    assert run.status == "diverged"
    for words in (
        f"took {MAX_STALLED_STEPS} of them",
        "singular position",
        "c0 = ",
        "method = 'RK4'",
    ):
        assert words in run.message


class Crawling:
    """A solver whose steps are all of one length."""

    def __init__(self, h):
        self.status, self.t_old, self.t, self.h = "running", 0.0, 0.0, h
        self.y_old = self.y = np.array([0.25, 1.0])

    def step(self):
        self.t_old, self.t = self.t, self.t + self.h


def test_so_many_steps_that_hardly_move_on_end_a_run():
    over = SingularityCrossing(lambda *_: None, lambda t, y: y, ("a",), 1.0, 0.1)
    solver = Crawling(1e-12)
    for _ in range(MAX_STALLED_STEPS - 1):
        solver.step()
        over.check_step(solver)
    solver.step()
    with pytest.raises(IntegrationFailed, match=r"closures, a = 0\.25, which"):
        over.check_step(solver)
    np.testing.assert_allclose(solver.t, MAX_STALLED_STEPS * 1e-12, rtol=1e-9)


LIMIT = '<limit lower="-1e30" upper="1e30" effort="1e30" velocity="1e30"/>'


def crank_and_rod():
    """Two bars of 1 m and 1 kg, the end of the second on a rail through the pivot of the first."""
    links = "".join(
        f'<link name="{name}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
        '<inertia ixx="1e-3" iyy="0.08" izz="0.08" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name in "ab"
    )
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>{LIMIT}</joint>'
        for name, parent, child, x in (("crank", "ground", "a", 0), ("rod", "a", "b", 1))
    )
    robot = Robot.build(
        f'<robot name="slider_crank"><link name="ground"/>{links}{joints}</robot>',
        Options(gravity=(0.0, -9.81, 0.0), actuator=[]),
    )
    rail = {"kind": "expression", "phi": "sin(crank) + sin(crank + rod)", "name": "rail"}
    return dc.replace(robot, passive=(rail,))


@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_a_crank_as_long_as_its_rod_passes_the_moment_when_both_are_upright(rtol):
    """There the only row vanishes: the slider could stand still at the pivot while both turn."""
    angle, rate = np.radians(80.0), 4.0
    run = simulate(
        Scenario(
            title="slider-crank",
            robot=crank_and_rod(),
            servo=(),
            controller=NoControl(),
            start=StartState(q=(angle, -2.0 * angle), v=(rate, -2.0 * rate)),
            timing=Timing(duration=3.0),
            integrator=IntegratorOptions(rtol=rtol, atol=0.1 * rtol),
        )
    )
    assert run.status == "completed", run.message
    crank, rod = run["q"].T
    np.testing.assert_allclose(rod, -2.0 * crank, rtol=0.0, atol=1e-4)  # it never folds
    assert np.ptp(crank) > 4.0 * np.pi
