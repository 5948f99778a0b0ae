"""The plant of a scenario as a linear system, beside closed forms and python-control."""

import control
import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.analysis.linear import OperatingPoint, invariant_zeros, linear_plant, operating_point
from ukctrl.core.errors import InputError, UnknownName

CLOSED = {"rtol": 0.0, "atol": 1e-9}


def test_the_zeros_of_a_cart_under_a_pole_are_the_pole_s_own_poles(plants):
    plant = linear_plant(plants.scenario(plants.cart_pole()))
    assert (plant.states, plant.inputs) == (("x", "angle", "v.x", "v.angle"), ("F",))
    assert plant.outputs == ("place",)
    (M, m), length, g = plants.masses, plants.length, plants.gravity
    own = np.sqrt(g / length)
    np.testing.assert_allclose(np.sort(plant.zeros().real), [-own, own], **CLOSED)
    fast = np.sqrt((M + m) * g / (M * length))
    np.testing.assert_allclose(np.sort(plant.poles().real), [-fast, 0.0, 0.0, fast], atol=1e-6)


def test_outputs_are_freedoms_rates_and_places_of_frames(plants):
    plant = linear_plant(plants.scenario(plants.cart_pole()), servo=False, outputs=["angle", "v.x"])
    np.testing.assert_allclose(plant.C, [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]], **CLOSED)
    assert plant.output_units == ("rad", "m/s")


def test_the_place_of_a_frame_is_an_output_beside_the_rows_that_hold_it():
    helix = Scenario.load("scara-helix")
    rows, places = linear_plant(helix), linear_plant(helix, servo=False, outputs=["tool"])
    assert places.outputs == ("tool.x", "tool.y", "tool.z")
    np.testing.assert_allclose(rows.C[:3], places.C, **CLOSED)


def test_an_output_that_does_not_exist_is_refused_with_the_near_miss(plants):
    with pytest.raises(UnknownName, match="no output named 'angel'; did you mean 'angle'"):
        linear_plant(plants.scenario(plants.cart_pole()), outputs=["angel"])
    with pytest.raises(InputError, match="'angle' comes twice"):
        linear_plant(plants.scenario(plants.cart_pole()), outputs=["angle", "angle"])


def test_a_moment_of_the_run_is_where_the_run_is_then(plants):
    swings = plants.scenario(
        plants.cart_pole(), start={"q": {"angle": 0.1}}, controller={"kind": "lqr", "q": (0.0, 0.0)}
    )
    point = operating_point(swings, 0.35)
    whole = simulate(swings.replace({"timing.sample": 0.05}))
    np.testing.assert_allclose(point.q, whole["q"][7], atol=1e-8)
    np.testing.assert_allclose(point.u, whole["u"][7], atol=1e-6)
    with pytest.raises(InputError, match="must be within the run"):
        operating_point(swings, 1.5)


def test_any_state_may_be_given(plants):
    point = OperatingPoint(t=0.0, q=np.array([0.0, np.pi]), v=np.zeros(2), u=np.zeros(1))
    hangs = linear_plant(plants.scenario(plants.cart_pole()), point)
    swing = np.sqrt(plants.gravity / plants.length)
    np.testing.assert_allclose(hangs.zeros().real, 0.0, **CLOSED)
    np.testing.assert_allclose(np.sort(hangs.zeros().imag), [-swing, swing], **CLOSED)


def test_python_control_gets_the_names_and_finds_the_same_zeros(plants):
    plant = linear_plant(plants.scenario(plants.cart_pole()))
    given = plant.to_control()
    assert given.state_labels == list(plant.states)
    assert (given.input_labels, given.output_labels) == (["F"], ["place"])
    np.testing.assert_allclose(
        np.sort(control.zeros(given).real), np.sort(plant.zeros().real), **CLOSED
    )


@pytest.mark.parametrize("seed", range(5))
def test_zeros_of_systems_of_any_shape_are_where_their_matrix_loses_rank(seed):
    rng = np.random.default_rng(seed)
    # A square system inside a wide one whose other inputs are mixtures: the zeros stay.
    n, p = 5, 2
    A, B, C = rng.standard_normal((n, n)), rng.standard_normal((n, p)), rng.standard_normal((p, n))
    D = np.zeros((p, p))
    square = invariant_zeros(A, B, C, D)
    assert len(square) == n - p  # generic: C B is regular
    for z in square:
        whole = np.block([[A - z * np.eye(n), B], [C, D]])
        assert np.linalg.svd(whole)[1][-1] < 1e-9
    mix = rng.standard_normal((p, 3))
    wide = invariant_zeros(A, B @ mix, C, D @ mix)
    tall = invariant_zeros(A, B, mix.T @ C, mix.T @ D)
    for found in (wide, tall):
        np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(square), atol=1e-8)


def test_a_generic_wide_system_has_no_zeros():
    rng = np.random.default_rng(0)
    A, B, C = rng.standard_normal((4, 4)), rng.standard_normal((4, 3)), rng.standard_normal((1, 4))
    assert not len(invariant_zeros(A, B, C, np.zeros((1, 3))))


@pytest.mark.slow  # loading the robot takes most of it
def test_robots_with_very_many_freedoms_are_refused():
    with pytest.raises(InputError, match="up to 300 freedoms; 'swarm' has 400"):
        linear_plant(Scenario.load("swarm-many"))
