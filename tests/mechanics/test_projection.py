"""States moved onto passive constraints, and masses that vanish there."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.core.errors import SingularMass
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.derivatives import jets_of
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.mechanics.projection import MAX_CHANGE_RATIO, Projector, is_excessive
from ukctrl.robot import Lagrangian, Options

EXACT = {"rtol": 0.0, "atol": 1e-12}


def masses(kinetic, passive):
    """Two coordinates, a force on the first; begun at x = 1."""
    plant = Lagrangian(
        coordinates={"x": "m", "y": "m"}, kinetic=kinetic, neutral={"x": 1.0},
        inputs={"F": {"x": 1.0}},
    )  # fmt: skip
    return Robot.build(plant, Options(passive=[{"kind": "expression", "phi": p} for p in passive]))


def test_a_state_goes_onto_the_constraints_by_the_smallest_change_in_masses():
    """Of 1 kg and 3 kg on y = 2 x + t, the light one moves six times as far as the heavy one."""
    project = Projector(Dynamics(masses("v.x**2/2 + 3*v.y**2/2", ["y - 2*x - t"])))
    q, v = project(0.5, np.array([0.2, 0.3]), np.array([1.0, -1.0]))
    for moved, missing in ((q - [0.2, 0.3], 0.6), (v - [1.0, -1.0], 4.0)):
        # Least x^2 + 3 y^2 on y - 2 x = missing: x = -6 y, so that 13 y is missing.
        np.testing.assert_allclose(moved, [-6.0 * missing / 13.0, missing / 13.0], **EXACT)


def test_a_change_farbeyond_its_error_is_none():
    error = np.array([0.0, -1e-9])
    assert not is_excessive(np.array([0.99e-9 * MAX_CHANGE_RATIO, 0.0]), error)
    assert is_excessive(np.array([0.0, -1.01e-9 * MAX_CHANGE_RATIO]), error)
    assert is_excessive(np.array([np.nan, 0.0]), error)
    assert not is_excessive(np.zeros(0), np.zeros(0))


def test_errors_of_passive_rows_decay_critically_damped_within_a_fifth_of_a_second():
    alpha, beta = StabilisationGains()
    assert (alpha**2, alpha) == (4.0 * beta, 40.0)


@pytest.mark.parametrize("passive", [[], ["y - 0.5"], ["y - 0.5", "2*y - 1"]])
def test_where_the_mass_vanishes_it_is_refused_with_the_coordinate(passive):
    robot = masses("x**2*v.x**2/2 + v.y**2/2", passive)
    dynamics, nowhere, still = Dynamics(robot), np.array([0.0, 0.4]), np.zeros(2)
    dynamics.move(0.0, robot.neutral, still)
    rows = Stack([Expression(phi="x + y")], robot)
    asked = [
        lambda: dynamics.move(0.0, nowhere, still),
        lambda: jets_of(rows, 2, dynamics.rank).derivatives(
            0.0, nowhere, still, np.zeros((1, 1)), 2
        ),
    ]
    if passive:
        asked.append(lambda: Projector(dynamics)(0.0, nowhere, still))
    for each in asked:
        with pytest.raises(SingularMass) as caught:
            each()
        assert str(caught.value) == (
            "mass matrix must be symmetric positive definite; it fails at coordinate 0. Give every "
            "moving link a mass and an inertia."
        )


@pytest.mark.parametrize(
    ("passive", "independent", "dependent"),
    [
        ([], "", ""),
        (["x", "10*x + y"], "ab", ""),
        (["x", "10*x + y", "z"], "abc", ""),
        (["x", "10*x + y", "x - 3*y"], "ac", "b"),
        (["x", "2*x", "10*x + y", "x + 10*y"], "ad", "bc"),
    ],
)
def test_a_report_on_passive_rows_names_them_in_their_order(passive, independent, dependent):
    tables = [
        {"kind": "expression", "name": name, "phi": phi}
        for name, phi in zip("abcd", passive, strict=False)
    ]
    plant = Lagrangian(coordinates={"x": "m", "y": "m", "z": "m"}, kinetic=["v.x**2", "v.y**2",
                       "v.z**2"])  # fmt: skip
    robot = Robot.build(plant, Options(passive=tables))
    dynamics = Dynamics(robot)
    dynamics.move(0.0, np.zeros(3), np.zeros(3))
    report = dynamics.passive_report()
    assert (report.independent, report.dependent) == (tuple(independent), tuple(dependent))
    assert report.rank == len(independent)
