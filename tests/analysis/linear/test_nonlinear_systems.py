"""Plant and loop simulated by python-control, beside ukctrl's own runs."""

import control
import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.analysis.linear import (
    initial_state,
    linear_loop,
    linear_plant,
    loop_system,
    plant_system,
)
from ukctrl.core.errors import InputError

SOLVER = {"solve_ivp_method": "DOP853", "solve_ivp_kwargs": {"rtol": 1e-9, "atol": 1e-11}}
SAME = {"rtol": 0.0, "atol": 1e-7}  # two integrations, each to 1e-9


@pytest.mark.parametrize(
    "name",
    ["scara-helix", "quadrotor-hover", "three-rrr", "flexible-joint-arm-motor", "two-mass-spring"],
    ids=["arm", "floating", "closed", "memory", "spring"],
)
def test_python_control_moves_the_loop_as_the_run_does(name):
    task = Scenario.load(name, {"timing.duration": 0.2, "timing.sample": 0.05})
    system, run = loop_system(task), simulate(task)
    found = control.input_output_response(
        system, run.time, 0.0, initial_state(task), t_eval=run.time, **SOLVER
    )
    nq = run["q"].shape[1]
    # A quaternion may have lost some of its length; its direction is what counts.
    scale = np.maximum(1.0, np.abs(run["q"]).max())
    np.testing.assert_allclose(found.states[:nq].T / scale, run["q"] / scale, **SAME)
    m = run["phi"].shape[1]
    known = ~np.isnan(run["phi"])
    np.testing.assert_allclose(found.outputs[:m].T[known], run["phi"][known], **SAME)
    assert system.state_labels[:nq] == list(run.labels.coordinates)


def test_a_held_loop_ticks_in_python_control_as_in_the_run(plants):
    task = plants.scenario(
        plants.cart_pole(),
        controller={"kind": "lqi", "q": (0.0, 0.0)},
        start={"q": {"angle": 0.1}},
        timing={"duration": 0.5, "control": 0.02, "sample": 0.02},
    )
    system, run = loop_system(task), simulate(task)
    found = control.input_output_response(system, run.time, 0.0, initial_state(task))
    assert (system.dt, system.state_labels[-1]) == (0.02, "memory 1")
    np.testing.assert_allclose(found.states[:2].T, run["q"], **SAME)
    u = found.outputs[system.output_labels.index("u_F")]
    np.testing.assert_allclose(u[:-1], run["u"][:-1, 0], rtol=1e-6, atol=1e-7)


def test_the_plant_linearised_by_python_control_is_the_linear_plant(plants):
    task = plants.scenario(plants.cart_pole())
    ours = linear_plant(task)
    theirs = plant_system(task).linearize([0.0] * 4, [0.0])
    np.testing.assert_allclose(theirs.A, ours.A, atol=1e-4)  # forward differences of 1e-6
    np.testing.assert_allclose(theirs.B, ours.B, atol=1e-4)
    np.testing.assert_allclose(theirs.C[:1], ours.C, atol=1e-4)


def test_a_step_of_a_disturbance_goes_as_the_linear_loop_says(plants):
    task = plants.held_mass(5.0, 6.0)
    times = np.linspace(0.0, 2.0, 21)
    linear = linear_loop(task).to_control()
    found = control.input_output_response(
        loop_system(task), times, 1.0, [0.0, 0.0], t_eval=times, **SOLVER
    )
    wanted = control.step_response(linear, times)
    np.testing.assert_allclose(found.outputs[0], wanted.outputs, atol=1e-8)
    # x'' + 5 x' + 6 x = 1
    closed = 1.0 / 6.0 - np.exp(-2.0 * times) / 2.0 + np.exp(-3.0 * times) / 3.0
    np.testing.assert_allclose(found.outputs[0], closed, atol=1e-8)


def test_signals_can_be_connected_by_name():
    helix = Scenario.load("scara-helix")
    plant = linear_plant(helix).to_control()
    assert plant.output_labels[:2] == ["tool_x", "tool_y"]
    whole = control.interconnect(
        [plant],
        inplist=["plant.u1"],
        outlist=["plant.tool_x"],
        inputs=["u1"],
        outputs=["x"],
        check_unused=False,
    )
    assert whole.nstates == 8


def test_what_has_states_that_are_not_handed_over_is_refused():
    with pytest.raises(InputError, match="must have no sensors or drives between"):
        loop_system(Scenario.load("scara-helix-bench"))
    with pytest.raises(InputError, match="must have no law that switches"):
        loop_system(Scenario.load("cart-pole-swing-up"))
    with pytest.raises(InputError, match="must have a controller"):
        loop_system(Scenario.load("five-bar"))
