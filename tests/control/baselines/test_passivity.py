"""Slotine and Li's law: what makes it passive, and that Lyapunov's function decreases."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import SlotineLi, SlotineLiAdaptive
from ukctrl.core.algebra.finite_differences import jacobian
from ukctrl.core.errors import InputError, ModelError
from ukctrl.mechanics.constraints import Expression as Rows
from ukctrl.mechanics.reference import Expression
from ukctrl.robot import Functions, Lagrangian, Payload, Perturbation

SKEW = {"rtol": 0.0, "atol": 1e-9}  # differences of the mass matrix
EXACT = {"rtol": 0.0, "atol": 1e-10}
QUADRATURE = {"rtol": 0.0, "atol": 1e-4}  # Simpson's rule over 2 ms, with modes of 60 1/s [J]
RISE = 1e-9
"""What an integration of 1e-10 may raise a function that cannot rise, relative to its start."""

KAPPA, KD = 6.0, 3.0
PATH = Expression(components=("0.8*sin(1.3*t)", "0.5 + 0.7*cos(2.1*t)"))
WRONG = {"mass_scale": 0.7}


def reference(t):
    """Return the path with its rate."""
    return (
        np.array([0.8 * np.sin(1.3 * t), 0.5 + 0.7 * np.cos(2.1 * t)]),
        np.array([1.04 * np.cos(1.3 * t), -1.47 * np.sin(2.1 * t)]),
    )


def run(controller, duration, believed=None, robot="two_link", sample=0.02):
    """Run the two-link arm from beside its path."""
    return simulate(
        Scenario(
            title="swing", robot=robot, believed=believed, controller=controller,
            servo=(Rows(phi=("shoulder - 0.8*sin(1.3*t)", "elbow - 0.5 - 0.7*cos(2.1*t)")),),
            start={"q": {"shoulder": 0.4, "elbow": 0.6}},
            timing={"duration": duration, "sample": sample},
            integrator={"method": "DOP853", "rtol": 1e-10, "atol": 1e-12},
        )
    )  # fmt: skip


def slide(result):
    """Return sigma at every sample, written out."""
    r, r_dot = np.array([reference(t) for t in result.time]).transpose(1, 0, 2)
    return (result["v"] - r_dot) + KAPPA * (result["q"] - r)


def simpson(values, step):
    """Return the integrals over pairs of intervals."""
    return step / 3.0 * (values[:-2:2] + 4.0 * values[1:-1:2] + values[2::2])


def energy(robot, result):
    """Return sigma' M sigma / 2 at every sample."""
    sigma = slide(result)
    masses = np.array([robot.snapshot(q).M.copy() for q in result["q"]])
    return 0.5 * np.einsum("ki,kij,kj->k", sigma, masses, sigma)


@pytest.mark.parametrize("name", ["scara", "two_link", "panda", "ur5", "floating_arm"])
def test_the_coriolis_matrix_does_no_work_beyond_the_change_of_the_mass_matrix(name):
    robot, rng = Robot.load(name), np.random.default_rng(3)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    s, n = robot.snapshot(q, v), robot.nv
    rate = jacobian(lambda h: robot.snapshot(robot.integrate(q, h[0] * v)).M.ravel().copy(), 1)
    X = rate.reshape(n, n) - 2.0 * s.coriolis()
    np.testing.assert_allclose(X + X.T, 0.0, **SKEW)
    np.testing.assert_allclose(s.coriolis() @ v, s.nle - s.gravity, **EXACT)


# A double pendulum of point masses, as its Lagrangian and as bodies.
FORMULAS = Robot.build(
    Lagrangian(
        coordinates=["shoulder", "elbow"],
        kinetic=[
            "m1/2*(l1*v.shoulder)**2",
            "m2/2*(l1**2*v.shoulder**2 + l2**2*(v.shoulder + v.elbow)**2)",
            "m2*l1*l2*cos(elbow)*v.shoulder*(v.shoulder + v.elbow)",
        ],
        potential="m1*g*l1*sin(shoulder) + m2*g*(l1*sin(shoulder) + l2*sin(shoulder + elbow))",
        parameters={"m1": 2.0, "m2": 1.5, "l1": 0.5, "l2": 0.4, "g": 9.81},
    ),
    name="pendulum",
)
LINK = """<link name="{0}"><inertial><origin xyz="{1} 0 0"/><mass value="{2}"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>
<origin xyz="{3} 0 0"/><axis xyz="0 -1 0"/>
<limit lower="-9" upper="9" effort="1000" velocity="100"/></joint>"""
BODIES = Robot.build(
    "".join(
        (
            '<robot name="pendulum"><link name="base"/>',
            LINK.format("upper", 0.5, 2.0),
            LINK.format("lower", 0.4, 1.5),
            JOINT.format("shoulder", "base", "upper", 0.0),
            JOINT.format("elbow", "upper", "lower", 0.5),
            "</robot>",
        )
    )
)


class Pendulum:
    """The same as functions, of which one holds friction."""

    @staticmethod
    def M(q):
        return FORMULAS.snapshot(q, np.zeros(2)).M.copy()

    @staticmethod
    def nle(q, v):
        return FORMULAS.snapshot(q, v).nle + 0.3 * np.tanh(5.0 * v)


FUNCTIONS = Robot.build(
    Functions(coordinates=["shoulder", "elbow"], M=Pendulum.M, nle=Pendulum.nle), name="pendulum"
)
# Degree two, one and zero in the velocities, and a mass that grows.
MOVING = Robot.build(
    Lagrangian(
        coordinates={"x": "m", "th": "rad"},
        kinetic="m/2*(1 + 0.3*t)*(v.x + 0.3*cos(2*t))**2 + m/2*(l*v.th + w*sin(x)*v.x + x)**2",
        potential="m*g*l*cos(th)*(1 + 0.1*sin(t))",
        dissipation="c/2*(v.x - l*v.th)**2",
        parameters={"m": 1.3, "l": 0.7, "w": 0.9, "g": 9.81, "c": 0.2},
    )
)
PLANTS = {"formulas": FORMULAS, "functions": FUNCTIONS, "moving": MOVING}
LOADED = ("crane_spatial", "flexible_joint_arm")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", [*PLANTS, *LOADED])
def test_so_it_is_of_a_plant_of_formulas(name, seed):
    """Also where the kinetic energy has terms linear in the velocities, or contains the time."""
    robot, rng = PLANTS.get(name) or Robot.load(name), np.random.default_rng(seed)
    n = robot.nv
    q, v, t = rng.uniform(0.3, 1.5, n), rng.standard_normal(n), 0.4
    rate = jacobian(lambda h: robot.snapshot(q + h[0] * v, v, t + h[0]).M.ravel().copy(), 1)
    X = rate.reshape(n, n) - 2.0 * robot.snapshot(q, v, t).coriolis()
    np.testing.assert_allclose(X + X.T, 0.0, **SKEW)


@pytest.mark.parametrize("seed", range(5))
def test_formulas_and_bodies_have_the_same_coriolis_matrix(seed):
    rng = np.random.default_rng(seed)
    q, v = rng.uniform(-3.0, 3.0, 2), rng.standard_normal(2)
    formulas, bodies = FORMULAS.snapshot(q, v), BODIES.snapshot(q, v)
    np.testing.assert_allclose(formulas.coriolis(), bodies.coriolis(), **EXACT)
    np.testing.assert_allclose(formulas.coriolis() @ v, formulas.nle - formulas.gravity, **EXACT)
    np.testing.assert_allclose(FUNCTIONS.snapshot(q, v).coriolis(), bodies.coriolis(), **SKEW)


@pytest.mark.parametrize("believed", [None, {"mass": 0.7}], ids=["right", "wrong"])
def test_a_double_pendulum_of_formulas_moves_as_the_one_of_bodies(believed):
    law, runs = SlotineLi(kappa=KAPPA, kd=KD, path=PATH), []
    wrong = {"bodies": {"mass_scale": 0.7}, "formulas": {"parameters": {"m1": 1.4, "m2": 1.05}}}
    for name, robot in (("bodies", BODIES), ("formulas", FORMULAS)):
        runs.append(run(law, 2.0, believed and wrong[name], robot))
    one, other = runs
    assert one.status == other.status == "completed"
    np.testing.assert_allclose(other["q"], one["q"], rtol=0.0, atol=1e-7)  # of 1e-10 a step
    np.testing.assert_allclose(other["lyapunov"], one["lyapunov"], rtol=0.0, atol=1e-6)


@pytest.mark.slow(only=["functions"])
@pytest.mark.parametrize("name", ["functions", "moving"])
def test_lyapunovs_function_falls_on_any_plant_with_the_structure(name):
    robot = PLANTS[name]
    rows = [f"{joint} - {0.4 + 0.3 * i}*sin(1.3*t)" for i, joint in enumerate(robot.coordinates)]
    path = Expression(components=("0.4*sin(1.3*t)", "0.7*sin(1.3*t)"))
    result = simulate(
        Scenario(
            title="swing", robot=robot, servo=(Rows(phi=tuple(rows)),),
            controller=SlotineLi(kappa=KAPPA, kd=KD, path=path),
            start={"q": dict.fromkeys(robot.coordinates, 0.2)},
            timing={"duration": 2.0, "sample": 0.02},
            integrator={"method": "DOP853", "rtol": 1e-10, "atol": 1e-12},
        )
    )  # fmt: skip
    assert result.status == "completed"
    V = result["lyapunov"]
    assert np.diff(V).max() <= RISE * V[0]
    assert V[-1] < 1e-2 * V[0]


@pytest.mark.parametrize("name", ["scara", "panda"])
def test_the_regressor_is_linear_in_what_the_bodies_weigh(name):
    """Y of one robot times the parameters of another gives the other's forces."""
    robot, rng = Robot.load(name), np.random.default_rng(4)
    other = robot.perturbed(
        Perturbation(mass_scale=1.3, inertia_scale=0.8, com_shift=(0.01, -0.02, 0.03))
    )
    q, v, w, a = (rng.standard_normal(robot.nv) for _ in range(4))
    s, true = robot.snapshot(q, v), other.snapshot(q, v)
    force = s.regressor(w, a) @ true.inertial_parameters().ravel()
    np.testing.assert_allclose(force, true.M @ a + true.coriolis() @ w + true.gravity, **EXACT)


def test_lyapunovs_function_falls_by_what_the_damping_takes():
    result = run(SlotineLi(kappa=KAPPA, kd=KD, path=PATH), 2.0, sample=0.002)
    assert result.status == "completed"
    V = energy(Robot.load("two_link"), result)
    assert np.diff(V).max() <= RISE * V[0]
    sigma = slide(result)
    taken = KD * np.sum(sigma**2, axis=1)
    np.testing.assert_allclose(V[:-2:2] - V[2::2], simpson(taken, 0.002), **QUADRATURE)
    np.testing.assert_allclose(result["lyapunov"], V, **EXACT)


@pytest.mark.parametrize(
    ("robot", "believed"),
    [
        ("two_link", WRONG),
        ({"use": "two_link"}, {"mass_scale": 1.3}),
        (
            Robot.load("two_link").perturbed(Perturbation(payload=Payload(frame="tool", mass=1.0))),
            {"robot": "two_link"},
        ),
    ],
    ids=["too light", "too heavy", "payload"],
)
def test_the_adaptive_function_falls_whatever_the_bodies_are(robot, believed):
    gamma = {"mass": 4.0, "first_moment": 2.0, "inertia": 1.0}
    law = SlotineLiAdaptive(kappa=KAPPA, kd=KD, path=PATH, gamma=gamma)
    result = run(law, 2.0, believed, robot, sample=0.002)
    assert result.status == "completed"
    true = robot if isinstance(robot, Robot) else Robot.load("two_link")
    wrong = result["parameter_hat"] - true.snapshot(true.neutral).inertial_parameters().ravel()
    rates = np.tile(np.repeat([4.0, 2.0, 1.0], [1, 3, 6]), 2)
    V = energy(true, result) + 0.5 * np.sum(wrong**2 / rates, axis=1)
    assert np.diff(V).max() <= RISE * V[0]
    taken = KD * np.sum(slide(result) ** 2, axis=1)
    np.testing.assert_allclose(V[:-2:2] - V[2::2], simpson(taken, 0.002), **QUADRATURE)


@pytest.mark.slow
def test_the_estimate_removes_the_error_that_wrong_masses_leave():
    fixed = run(SlotineLi(kappa=KAPPA, kd=KD, path=PATH), 12.0, WRONG)
    gamma = {"mass": 20.0, "first_moment": 20.0, "inertia": 5.0}
    learned = run(SlotineLiAdaptive(kappa=KAPPA, kd=KD, path=PATH, gamma=gamma), 12.0, WRONG)
    late = slice(-100, None)
    assert np.abs(learned["phi"][late]).max() < 0.1 * np.abs(fixed["phi"][late]).max()
    np.testing.assert_allclose(learned["mass_hat"][0], 0.7 * np.array([2.0, 1.5]), **EXACT)


def test_zero_rates_leave_the_law_without_its_estimate():
    still = run(SlotineLiAdaptive(kappa=KAPPA, kd=KD, path=PATH, gamma=0.0), 0.5)
    fixed = run(SlotineLi(kappa=KAPPA, kd=KD, path=PATH), 0.5)
    np.testing.assert_allclose(still["q"], fixed["q"], rtol=0.0, atol=1e-9)


def refused(robot, controller, q=None):
    q = robot.neutral if q is None else q
    task = Task(robot=robot, servo=(), q=q, v=np.zeros(robot.nv), duration=1.0)
    return controller.start(task)


@pytest.mark.parametrize(
    ("make", "path", "error", "said"),
    [
        ("flexible_joint_arm", None, InputError, "must have a motor for each of its 4 freedoms"),
        ("n_four_bar", None, InputError, "must be an open chain.*it has '.*card 'servo-baumgarte'"),
        ("floating_arm", None, InputError, "joints of one freedom only.*'root' is not"),
    ],
)
def test_robots_without_the_structure_it_needs_are_refused(make, path, error, said):
    for law in (
        SlotineLi(kappa=1.0, kd=1.0, path=path),
        SlotineLiAdaptive(kappa=1.0, kd=1.0, gamma=1.0, path=path),
    ):
        with pytest.raises(error, match=said):
            refused(Robot.load(make), law)


def test_a_plant_without_bodies_has_nothing_to_estimate():
    law = SlotineLiAdaptive(kappa=1.0, kd=1.0, gamma=1.0, path=PATH)
    with pytest.raises(ModelError, match="no bodies whose masses and inertias"):
        refused(FORMULAS, law)


def test_joints_left_out_and_unknown_rates_are_refused():
    robot = Robot.load("two_link")
    part = Expression(components=("t",))
    with pytest.raises(InputError, match="must name all of shoulder, elbow.*got 1 of 2"):
        refused(robot, SlotineLi(kappa=1.0, kd=1.0, joints=("elbow",), path=part))
    law = SlotineLiAdaptive(kappa=1.0, kd=1.0, gamma={"masses": 1.0}, path=PATH)
    with pytest.raises(InputError, match="'masses'; did you mean 'mass'"):
        refused(robot, law)
