"""Every constraint kind against finite differences of its own phi, along random motions.

Along a motion through ``(q, v)`` with acceleration ``a``, a constraint must satisfy
``d phi / dt = beta`` and ``d beta / dt = A a - b``. Central differences along
``q (+) (h v + h^2 a / 2)`` have an error of order ``h^2``.
"""

import numpy as np
import pytest

from ukctrl.mechanics.constraints import (
    Closure,
    ComFollows,
    Contact,
    Distance,
    Expression,
    Gear,
    JointFollows,
    LinearVelocity,
    OnSurface,
    OrientationFollows,
    PointFollows,
    PoseFollows,
    RelativePoseFollows,
    Rolling,
    Stack,
)
from ukctrl.robot import Robot

STEP = 1e-5
DIFFERENCED = {"rtol": 2e-6, "atol": 2e-6}  # h^2 of the motions drawn here, and rounding / h

HELIX = {"kind": "expression", "x": "0.3*sin(2*t)", "y": "0.2*cos(3*t)", "z": "0.1*t**2"}
PLANE = {"kind": "expression", "components": ["0.3*sin(2*t)", "0.1*t"]}
SCALAR = {"kind": "expression", "components": ["0.4 + 0.1*sin(3*t)"]}
TURN = {
    "kind": "about_axis",
    "axis": [1.0, 2.0, -1.0],
    "angle": {"kind": "expression", "components": ["0.5 + 0.8*sin(2*t)"]},
}


SLOPE = {"point": (0.1, 0.2, -0.3), "normal": (0.3, -0.2, 1.0)}
SECOND = {"scara": "q1", "two_link": "shoulder", "floating_arm": "elbow"}
FRAMES = {
    "scara": ("link1", "tool"),
    "two_link": ("upper", "tool"),
    "floating_arm": ("base", "hand"),
}


def of(robot: Robot, kind: str):
    """Return a constraint of a kind, with names that this robot has."""
    first, last = FRAMES[robot.name]
    joint, coordinate = robot.dofs[-1], robot.coordinates[-1]
    made = {
        "point": PointFollows(frame=last, path=HELIX, offset=(0.1, -0.2, 0.3)),
        "point in a plane": PointFollows(frame=last, path=PLANE, axes="xz"),
        "orientation": OrientationFollows(frame=last, path=TURN),
        "pose": PoseFollows(frame=last, path=HELIX, orientation=TURN),
        "relative pose": RelativePoseFollows(frames=(first, last), path=HELIX, orientation=TURN),
        "centre of mass": ComFollows(path=PLANE, axes="yz"),
        "distance": Distance(frames=(first, last), path=SCALAR),
        "surface": OnSurface(frame=last, surface="x**2 - sin(z)*x + (x - t)*(2*y + z) + z*t**2"),
        "point closure": Closure(frames=(first, last), type="point"),
        "planar point closure": Closure(frames=(last, "world"), type="planar_point"),
        "revolute closure": Closure(frames=(last, first), type="revolute"),
        "prismatic closure": Closure(frames=(first, last), type="prismatic"),
        "weld closure": Closure(frames=(last, "world"), type="weld"),
        "point contact": Contact(frame=last, ground=SLOPE),
        "flat contact": Contact(frame=last, type="flat", ground=SLOPE),
        "point that sticks": Contact(frame=last, sticks=True),
        "foot that sticks": Contact(frame=last, type="flat", sticks=True, ground=SLOPE),
        "wheel": Rolling(frame=last, radius=0.3, axle="x", ground=SLOPE),
        "wheel of a vehicle": Rolling(frame=last, radius="20*cm", axle=(1.0, 1.0, 2), height=False),
        "gear": Gear(joints=(joint, SECOND[robot.name]), ratio=3.0, offset="10*deg"),
        "joint": JointFollows(joints=(joint,), path=SCALAR),
        "linear velocity": LinearVelocity(
            coefficients={joint: 2.0, robot.dofs[0]: -1.0}, path=SCALAR
        ),
        "phi": Expression(phi=f"sin({coordinate}) * {robot.coordinates[0]} + 0.2*t**2"),
        "psi": Expression(psi=f"v.{joint}**2 * {coordinate} + cos(t) * v.{robot.dofs[0]}"),
        "pfaffian": Expression(
            pfaffian=f"cos({coordinate}) * d.{joint} - t * d.{robot.dofs[0]} + d.t"
        ),
    }
    return made[kind]


KINDS = [
    "point",
    "point in a plane",
    "orientation",
    "pose",
    "relative pose",
    "centre of mass",
    "distance",
    "surface",
    "point closure",
    "planar point closure",
    "revolute closure",
    "prismatic closure",
    "weld closure",
    "point contact",
    "flat contact",
    "point that sticks",
    "foot that sticks",
    "wheel",
    "wheel of a vehicle",
    "gear",
    "joint",
    "linear velocity",
    "phi",
    "psi",
    "pfaffian",
]


@pytest.fixture(scope="module", params=["scara", "two_link", "floating_arm"])
def robot(request):
    return Robot.load(request.param)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_derivatives_of_their_own_error(robot, kind, seed):
    rng = np.random.default_rng(seed)
    q, v, a = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    t = rng.uniform(0.0, 2.0)
    constraint = of(robot, kind)

    def rows_at(h):
        moved = robot.integrate(q, h * v + 0.5 * h * h * a)
        return constraint.rows(robot.snapshot(moved, v + h * a, t + h))

    now, before, after = rows_at(0.0), rows_at(-STEP), rows_at(STEP)
    beta_dot = (after.beta - before.beta) / (2.0 * STEP)
    np.testing.assert_allclose(now.A @ a - now.b, beta_dot, **DIFFERENCED)
    phi_dot = (after.phi - before.phi) / (2.0 * STEP)
    holonomic = ~np.isnan(now.phi)
    np.testing.assert_allclose(now.beta[holonomic], phi_dot[holonomic], **DIFFERENCED)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_kind_are_written_without_python(robot, kind):
    snapshot = robot.snapshot(robot.neutral)
    assert Stack([of(robot, kind)], robot).steps(snapshot).python_owners == ()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "psi"])
def test_beta_is_linear_in_the_velocity_with_the_matrix_of_the_rows(robot, kind):
    rng = np.random.default_rng(7)
    q, v, dv = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    constraint = of(robot, kind)
    one = constraint.rows(robot.snapshot(q, v, 0.3))
    other = constraint.rows(robot.snapshot(q, v + dv, 0.3))
    np.testing.assert_allclose(other.beta - one.beta, one.A @ dv, rtol=1e-9, atol=1e-10)


def test_a_stack_is_its_constraints_one_above_the_other(robot):
    rng = np.random.default_rng(3)
    parts = [of(robot, kind) for kind in KINDS]
    stack = Stack(parts, robot)
    snapshot = robot.snapshot(robot.random(rng), rng.standard_normal(robot.nv), 0.4)
    rows = stack.write(snapshot)
    single = [part.rows(snapshot) for part in parts]
    np.testing.assert_array_equal(rows.A, np.vstack([part.A for part in single]))
    np.testing.assert_array_equal(rows.b, np.concatenate([part.b for part in single]))
    assert len(set(stack.names)) == len(stack)
