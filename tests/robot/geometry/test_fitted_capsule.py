"""Capsules around links, beside the shapes themselves as coal has them."""

import coal
import numpy as np
import pinocchio as pin
import pytest
import tomli_w
from extras import needs

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints.capsule_distance import Capsule
from ukctrl.robot.geometry.fitted_capsule import smallest_capsule

SHAPES = {
    "upper": '<origin xyz="0.3 0 0" rpy="0 1.5707963267948966 0"/>'
    '<geometry><cylinder radius="0.05" length="0.5"/></geometry>',
    "fore": '<origin xyz="0.2 0.01 0" rpy="0.1 0.2 0.3"/>'
    '<geometry><box size="0.4 0.06 0.04"/></geometry>',
    "hand": '<origin xyz="0.05 0 0"/><geometry><sphere radius="0.07"/></geometry>',
}
INERTIAL = (
    '<inertial><origin xyz="0.2 0 0"/><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02" '
    'ixy="0" ixz="0" iyz="0"/></inertial>'
)


def arm(kind):
    links = "".join(
        f'<link name="{name}">{INERTIAL}<{kind}>{shape}</{kind}></link>'
        for name, shape in SHAPES.items()
    )
    joints, parent = "", "base"
    places = zip(SHAPES, ("0 0 1", "0 1 0", "0 0 1"), (0.0, 0.6, 0.4), strict=True)
    for name, axis, x in places:
        joints += (
            f'<joint name="to_{name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="{x} 0 0"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="200" velocity="10"/></joint>'
        )
        parent = name
    return f'<robot name="arm"><link name="base"/>{links}{joints}</robot>'


@pytest.mark.parametrize("kind", ["visual", "collision"])
def test_a_fitted_capsule_is_the_shape_where_that_is_one(kind):
    robot = Robot.build(arm(kind))
    made = Capsule(frame="hand", around=kind).fit(robot)
    np.testing.assert_allclose(made.radius, 0.07, rtol=0.02)
    np.testing.assert_allclose(made.start, [0.05, 0.0, 0.0], atol=1e-3)
    made = Capsule(frame="upper", around=kind).fit(robot)
    np.testing.assert_allclose(sorted([made.start[1], made.end[1]]), 0.0, atol=1e-3)
    assert 0.05 < made.radius < 0.07


MJCF = """<mujoco><default>
<default class="look"><geom contype="0" conaffinity="0" group="2"/></default>
<default class="touch"><geom group="3" rgba="0 0 0 0"/></default>
</default><worldbody><body name="ball">
<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><joint name="j" axis="0 0 1"/>
<geom class="look" type="sphere" size="0.1"/><geom class="touch" type="sphere" size="0.15"/>
<geom class="touch" contype="0" conaffinity="0" type="sphere" size="0.9"/>
</body></worldbody></mujoco>"""


@needs("mujoco")
def test_what_collides_of_an_mjcf_is_what_may_touch_anything():
    robot = Robot.build(MJCF)
    for kind, radius in {"visual": 0.1, "collision": 0.15}.items():
        made = Capsule(frame="ball", around=kind).fit(robot)
        np.testing.assert_allclose(made.radius, radius, rtol=0.02)


@pytest.mark.slow
def test_no_body_reaches_beyond_its_capsule():
    """At random postures, what is kept is never more than the distance of the bodies."""
    text = arm("collision")
    model = pin.buildModelFromXML(text)
    shapes = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.COLLISION)
    place = {each.name.rsplit("_", 1)[0]: k for k, each in enumerate(shapes.geometryObjects)}
    robot, rng = Robot.build(arm("visual")), np.random.default_rng(0)
    fitted = {name: Capsule(frame=name).fit(robot) for name in SHAPES}
    data, now = model.createData(), shapes.createData()
    closest = np.inf
    for _ in range(300):
        q = rng.uniform(-2.5, 2.5, 3)
        pin.updateGeometryPlacements(model, data, shapes, now, q)
        pin.updateFramePlacements(model, data)
        for name, capsule in fitted.items():
            frame = data.oMf[model.getFrameId(name)]
            ends = [frame.act(np.array(end)) for end in (capsule.start, capsule.end)]
            k = place[name]
            probe = coal.Sphere(1e-6)
            away = rng.standard_normal(3)
            at = 0.5 * (ends[0] + ends[1]) + 0.4 * away / np.linalg.norm(away)
            there = coal.Transform3s(np.eye(3), at)
            asked, answer = coal.DistanceRequest(), coal.DistanceResult()
            of_body = coal.distance(
                shapes.geometryObjects[k].geometry,
                coal.Transform3s(now.oMg[k].rotation, now.oMg[k].translation),
                probe, there, asked, answer,
            )  # fmt: skip
            axis = ends[1] - ends[0]
            t = np.clip(axis @ (at - ends[0]) / max(axis @ axis, 1e-12), 0.0, 1.0)
            of_capsule = np.linalg.norm(at - ends[0] - t * axis) - capsule.radius
            assert of_capsule < of_body + 2e-6
            closest = min(closest, of_body - of_capsule)
    assert closest < 2e-3  # and it touches the body


@pytest.mark.slow(only=["0", "4"])
@pytest.mark.parametrize("seed", range(5))
def test_points_lie_within_their_smallest_capsule(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((60, 3)) * [1.0, 0.4, 0.2] @ np.linalg.qr(rng.random((3, 3)))[0]
    start, end, radius = around = smallest_capsule(points)
    axis = end - start
    t = np.clip((points - start) @ axis / (axis @ axis), 0.0, 1.0)
    far = np.linalg.norm(points - start - t[:, None] * axis, axis=1)
    assert (far < radius).all()
    ball = np.linalg.norm(points - points.mean(axis=0), axis=1).max()
    assert around.volume < 4.0 / 3.0 * np.pi * ball**3


def led(robot, **more):
    path = {"kind": "constant", "value": [0.0, 2.4, 0.0]}
    post = {"frame": "world", "start": [0.5, -0.5, -0.4], "end": [0.5, 0.5, -0.4], "radius": 0.03}
    keep = {"kind": "clearance", "name": "post", "capsules": [{"frame": "fore"}, post]}
    return Scenario.from_toml(tomli_w.dumps({
        "title": "an arm beside a post", "robot": str(robot),
        "start": {"q": [0.0, -0.3, 0.0]}, "keep": [keep | more],
        "servo": [{"kind": "joint_follows", "joints": ["to_upper", "to_fore", "to_hand"],
                   "path": path}],
        "controller": {"kind": "servo",
                       "feedback": {"kind": "baumgarte", "alpha": 8.0, "beta": 16.0}},
        "timing": {"duration": 1.0, "control": 0.004, "sample": 0.004},
    }))  # fmt: skip


@pytest.mark.slow
def test_a_body_as_its_file_shows_it_does_not_touch_a_post(tmp_path):
    (tmp_path / "arm.urdf").write_text(arm("visual"), encoding="utf-8")
    robot = tmp_path / "robot.toml"
    robot.write_text('title = "arm"\nsource = "test"\nmodel = "arm.urdf"\n', encoding="utf-8")
    scenario = led(robot)
    check(scenario)
    run = simulate(scenario)
    assert run.status == "completed", run.message
    assert -1e-5 < run["keep"].min() < 0.02


@pytest.mark.parametrize(
    ("capsule", "said"),
    [
        (
            {"frame": "base"},
            "the visual shapes of link 'base' in the robot's model file, which has",
        ),
        ({"frame": "fore", "around": "collision"}, "none. Give .* radius, or around = 'visual'"),
        ({"frame": "fore", "end": [0.1, 0.0, 0.0]}, "got an axis without a radius"),
    ],
)
def test_what_cannot_be_fitted_is_told(tmp_path, capsule, said):
    (tmp_path / "arm.urdf").write_text(arm("visual"), encoding="utf-8")
    robot = tmp_path / "robot.toml"
    robot.write_text('title = "arm"\nsource = "test"\nmodel = "arm.urdf"\n', encoding="utf-8")
    with pytest.raises(InputError, match=said):
        simulate(led(robot, capsules=[capsule, {"frame": "hand", "radius": 0.1}]))
