"""Constraints that are not ideal: eqs (12)-(13) on arrays, friction in closures in closed loop."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import sqrtm

from ukctrl import Robot, Scenario, simulate, uk
from ukctrl.control import NoControl
from ukctrl.core.errors import InputError
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Options
from ukctrl.robot.schema.robot_file import ExtraFrame
from ukctrl.simulation.scenario import StartState, Timing

G, MASS, INERTIA, HALF = 9.81, 2.0, 0.3, 0.5
EXACT = {"rtol": 0.0, "atol": 1e-9}
INTEGRATED = {"rtol": 0.0, "atol": 2e-8}  # rtol 1e-9 over some seconds
JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="{4}"/>'
    '<limit lower="-99" upper="99" effort="1e30" velocity="1e30"/></joint>'
)
BODY = (
    '<robot name="body"><link name="base"/><link name="sx"/><link name="sz"/><link name="bar">'
    f'<inertial><mass value="{MASS}"/><inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link>'
    + JOINT.format("x", "prismatic", "base", "sx", "1 0 0")
    + JOINT.format("z", "prismatic", "sx", "sz", "0 0 1")
    + JOINT.format("r", "revolute", "sz", "bar", "0 -1 0")
    + "</robot>"
)
HINGE = {"kind": "closure", "frames": ["foot", "pin"], "type": "planar_point", "name": "hinge"}
RAIL = {"kind": "closure", "frames": ["bar", "base"], "type": "prismatic", "name": "rail"}


def bar(*passive):
    """A bar in the x-z plane, hinged at its foot or guided along z."""
    plane = (np.pi / 2.0, 0.0, 0.0)  # turns a frame's z axis into the world's -y
    frames = [
        ExtraFrame(name="foot", parent="bar", position=(-HALF, 0.0, 0.0), rpy=plane),
        ExtraFrame(name="pin", parent="base", rpy=plane),
    ]
    return dc.replace(Robot.build(BODY, Options(actuator=[], frame=frames)), passive=passive)


def hinged(angle, rate=0.0):
    c, s = np.cos(angle), np.sin(angle)
    return (HALF * c, HALF * s, angle), (-HALF * s * rate, HALF * c * rate, rate)


def run_of(robot, q, v, duration=3.0, **changes):
    return simulate(
        Scenario(
            title="bar",
            robot=robot,
            servo=(),
            controller=NoControl(),
            start=StartState(q=tuple(map(float, q)), v=tuple(map(float, v))),
            timing=Timing(duration=duration, sample=0.005),
            **changes,
        )
    )


def by_the_paper(M, A, c):
    """Q_ni = M^1/2 (I - B^+ B) M^-1/2 c with B = A M^-1/2, formed as printed."""
    root = np.real(sqrtm(M))
    B = A @ np.linalg.inv(root)
    return root @ (np.eye(len(M)) - np.linalg.pinv(B) @ B) @ np.linalg.inv(root) @ c


@pytest.mark.parametrize("seed", range(5))
def test_a_given_force_changes_the_motion_as_the_paper_says(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6))
    M, A = root @ root.T + 6.0 * np.eye(6), rng.standard_normal((3, 6))
    A[2] = A[0] - 2.0 * A[1]  # a redundant row
    b, Q, c = A @ rng.standard_normal(6), rng.standard_normal(6), rng.standard_normal(6)
    with_c, without = (
        uk.affine_acceleration(M, force, np.zeros((6, 1)), A, b).a_free for force in (Q + c, Q)
    )
    np.testing.assert_allclose(M @ (with_c - without), by_the_paper(M, A, c), **EXACT)


def test_the_passive_force_is_the_ideal_one_and_the_papers_nonideal_one():
    given = {"r": "-0.4*v.r + 0.1*t", "x": "sin(z)*v.z**2"}
    q, v = map(np.array, hinged(0.4, 2.0))
    force, arrays = {}, {}
    for name, robot in {
        "ideal": bar(HINGE),
        "real": bar({**HINGE, "nonideal": given}),
    }.items():
        dynamics = Dynamics(robot)
        dynamics.move(0.7, q, v)
        force[name] = dynamics.passive_force(dynamics.a_free, np.zeros(0))
        arrays[name] = dynamics
    c = np.array([np.sin(q[1]) * v[1] ** 2, 0.0, -0.4 * v[2] + 0.07])
    real = arrays["real"]
    np.testing.assert_allclose(real.nonideal, c, **EXACT)
    expected = by_the_paper(real.snapshot.M, real.passive.rows.A, c)
    np.testing.assert_allclose(force["real"] - force["ideal"], expected, **EXACT)


J = INERTIA + MASS * HALF**2
PENDULUM = {
    "viscous": (
        {"kind": "viscous", "coefficient": 0.4},
        lambda rate: -0.4 * rate,
    ),
    "coulomb": (
        {"kind": "coulomb", "level": 0.6, "velocity_scale": 0.1},
        lambda rate: -0.6 * np.tanh(rate / 0.1),
    ),
    "both": (
        [
            {"kind": "coulomb", "level": 0.6, "velocity_scale": 0.1},
            {"kind": "viscous", "coefficient": "0.2"},
        ],
        lambda rate: -0.6 * np.tanh(rate / 0.1) - 0.2 * rate,
    ),
}


@pytest.mark.parametrize("name", PENDULUM)
def test_friction_in_a_hinge_slows_the_pendulum_that_it_makes(name):
    friction, torque = PENDULUM[name]
    run = run_of(bar({**HINGE, "friction": friction}), *hinged(0.2))
    assert run.status == "completed", run.message
    motion = solve_ivp(
        lambda t, x: [x[1], (-MASS * G * HALF * np.cos(x[0]) + torque(x[1])) / J],
        (0.0, 3.0), [0.2, 0.0], t_eval=run.time, method="DOP853", rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    np.testing.assert_allclose(run["q"][:, 2], motion.y[0], **INTEGRATED)
    lost = run["energy"][0] - run["energy"][-1]
    assert lost > 1.0
    np.testing.assert_allclose(run.metric("friction_loss"), lost, rtol=0.0, atol=1e-4)
    assert run.metric("energy_drift") < 1e-4
    assert run.metric("reaction_residual") < 1e-9


def test_friction_on_a_rail_gives_a_falling_body_its_terminal_velocity():
    friction = {"kind": "viscous", "coefficient": 5.0}
    run = run_of(bar({**RAIL, "friction": friction}), (0, 0, 0), (0, 0, 0), duration=2.0)
    decay = 5.0 / MASS
    v_z = -MASS * G / 5.0 * (1.0 - np.exp(-decay * run.time))
    np.testing.assert_allclose(run["v"][:, 1], v_z, **INTEGRATED)
    # The friction acts along the rail and the rail carries nothing.
    np.testing.assert_allclose(run["reaction"], 0.0, **EXACT)


def test_friction_is_the_laws_knowledge_too():
    """The believed robot is the true one, so its dynamics include the friction."""
    robot = bar({**HINGE, "friction": {"kind": "viscous", "coefficient": 0.4}})
    dynamics = Dynamics(robot)
    dynamics.move(0.0, *map(np.array, hinged(0.2, 1.5)))
    np.testing.assert_allclose(dynamics.nonideal[2], -0.4 * 1.5, **EXACT)
    assert dynamics.steps.python_owners == ()


def test_dry_friction_pushes_nowhere_while_nothing_slides():
    dry = {"kind": "coulomb", "level": 0.6, "velocity_scale": 0.1}
    dynamics = Dynamics(bar({**HINGE, "friction": [dry, dry]}))
    dynamics.move(0.0, *map(np.array, hinged(0.2)))
    np.testing.assert_array_equal(dynamics.nonideal, np.zeros(3))
    dynamics.move(0.0, *map(np.array, hinged(0.2, -0.05)))
    np.testing.assert_allclose(dynamics.nonideal[2], 2.0 * 0.6 * np.tanh(0.5), **EXACT)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"type": "weld", "friction": {"kind": "viscous", "coefficient": 1}}, "nothing to rub"),
        ({"friction": {"kind": "viscous", "coefficient": -1}}, "must be zero or positive"),
        ({"friction": {"kind": "stiction", "level": 1}}, "stiction"),
        ({"nonideal": {"rr": "-v.r"}}, "did you mean 'r'"),
        ({"nonideal": {"r": "-v.q"}}, "nonideal.r: "),
    ],
)
def test_what_is_no_friction_is_refused_with_its_place(table, says):
    with pytest.raises(InputError, match=says) as refused:
        Dynamics(bar({**HINGE, **table}))
    assert "robot 'body': passive[0]" in str(refused.value)
