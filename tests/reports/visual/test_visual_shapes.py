"""Shapes of hinges, linkages and geoms: their places, sizes and colours, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ukctrl.reports.visual import body_proportions, linkage_visual, mesh_collector
from ukctrl.reports.visual.mesh_collector import ACCENT, BODY, JOINT, SECOND, MeshCollector
from ukctrl.reports.visual.visual_frames import FrameAnchor
from ukctrl.robot import ExtraFrame, Options, Robot
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.schema.linkage_tables import (
    Linkage,
    LinkageBody,
    LinkageMotor,
    Prismatic,
    Revolute,
)

EXACT = {"rtol": 0.0, "atol": 1e-12}


def spans(mesh):
    """Return the lowest and the highest corner."""
    return mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)


def round_of(mesh):
    """Return the largest radius about z, and the lowest and the highest height."""
    away = np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 1]).max()
    return [away, mesh.vertices[:, 2].min(), mesh.vertices[:, 2].max()]


# Hinges


@pytest.mark.parametrize(
    ("radius", "half", "bevel"), [(1.0, 0.5, 0.18), (2.0, 3.0, 0.36), (1.0, 0.1, 0.05)]
)
def test_a_drum_is_a_cylinder_with_bevelled_edges(radius, half, bevel):
    mesh = mesh_collector.bevelled_cylinder(radius, half)
    np.testing.assert_allclose(round_of(mesh), [radius, -half, half], **EXACT)
    on_top = mesh.vertices[mesh.vertices[:, 2] == half]
    side = mesh.vertices[np.abs(mesh.vertices[:, 2]) < half]
    away = np.hypot(on_top[:, 0], on_top[:, 1]).max()
    np.testing.assert_allclose(away, radius - bevel, **EXACT)
    np.testing.assert_allclose(np.abs(side[:, 2]), half - bevel, **EXACT)


def test_a_hinge_with_a_motor_is_a_housing_and_one_without_an_eye_on_a_pin():
    for driven, sizes, colors in (
        (True, ([2.5, -3.0, 3.0], [1.4, -3.18, 3.18]), [JOINT, ACCENT]),
        (False, ([2.3, -1.6, 1.6], [1.0, -2.2, 2.2]), [BODY, JOINT]),
    ):
        parts = mesh_collector.joint_meshes(2.0, 3.0, driven=driven)
        for (mesh, _), size in zip(parts, sizes, strict=True):
            np.testing.assert_allclose(round_of(mesh), size, **EXACT)
        assert [color for _, color in parts] == colors


def test_the_spring_of_a_joint_winds_four_times_between_two_heights():
    mesh = mesh_collector.joint_spring(0.5, -1.0, 3.0)
    wire = 0.06
    away, low, high = round_of(mesh)
    assert away == pytest.approx(0.5 + wire)
    assert (low, high) == pytest.approx((-1.0 - 4.0 * wire, 3.0 + 4.0 * wire), abs=4.0 * wire)
    middle = mesh.vertices.reshape(-1, 6, 3).mean(axis=1)
    np.testing.assert_allclose(np.hypot(middle[:, 0], middle[:, 1]), 0.5, **EXACT)
    np.testing.assert_allclose(middle[:, 2], np.linspace(-1.0, 3.0, len(middle)), **EXACT)
    angle = np.unwrap(np.arctan2(middle[:, 1], middle[:, 0]))
    np.testing.assert_allclose(angle[-1] - angle[0], 8.0 * np.pi, atol=1e-9)


def test_meshes_of_one_joint_and_colour_are_one_part():
    out = MeshCollector()
    ball = primitive_meshes.sphere(1.0)
    out.add(2, ball, "#111111")
    out.add(0, ball)
    out.add(2, ball.moved(np.eye(3), np.array([9.0, 0.0, 0.0])), "#111111")
    first, base = out.parts({2: "arm"})
    assert (first.name, first.frame, first.color) == ("arm", 2, "#111111")
    assert (base.name, base.frame, base.color) == ("base", 0, "")
    assert base.mesh is ball
    assert len(first.mesh.faces) == 2 * len(ball.faces)
    assert first.mesh.faces.max() == 2 * len(ball.vertices) - 1
    np.testing.assert_allclose(spans(first.mesh)[1][0], 10.0, **EXACT)


@pytest.mark.parametrize(
    ("mesh", "volume"),
    [
        (primitive_meshes.arrow(0.1), np.pi * 0.01 * (0.75 + 5.76 * 0.25 / 3.0)),
        (mesh_collector.bevelled_cylinder(1.0, 1.0), 2.0 * np.pi),
        (
            primitive_meshes.rod(np.zeros(3), np.array([0.0, 0.0, 9.0]), 1.0, 1.0),
            np.pi * (9.0 + 4.0 / 3.0),
        ),
    ],
)
def test_shapes_hold_what_they_should(mesh, volume):
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    held = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    assert 0.9 * volume < held < 1.0001 * volume


@pytest.mark.parametrize(
    ("mesh", "around"),
    [
        (primitive_meshes.tube(np.cumsum(np.ones((5, 3)), axis=0), 0.1), 8),
        (primitive_meshes.spring(0.5, 3, 0.05), 6),
    ],
)
def test_tubes_are_closed_but_for_their_ends(mesh, around):
    """Every edge belongs to one triangle on each side, which go through it in opposite ways."""
    edges = [tuple(face[[k, (k + 1) % 3]]) for face in mesh.faces for k in range(3)]
    assert len(set(edges)) == len(edges)
    open_ends = set(edges) - {edge[::-1] for edge in edges}
    last = len(mesh.vertices) - around
    assert len(open_ends) == 2 * around
    assert {k for edge in open_ends for k in edge} == {
        *range(around), *range(last, last + around)
    }  # fmt: skip
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    middle = mesh.vertices.reshape(-1, around, 3).mean(axis=1)[mesh.faces.min(axis=1) // around]
    out = np.einsum("ij,ij->i", np.cross(b - a, c - a), (a + b + c) / 3.0 - middle)
    assert (out > 0.0).all()


# Linkages


def body(name, **points):
    return LinkageBody(name=name, mass=1.0, inertia=1.5, points=points)


def drawn(linkage, anchors=None):
    """Return the meshes of a linkage by joint and colour, and its feet."""
    names = {each.name: k + 1 for k, each in enumerate(linkage.body)} | {"ground": 0}
    out = MeshCollector()

    def anchor_of(name):
        return (anchors or {}).get(name) or FrameAnchor(names[name], np.eye(3), np.zeros(3))

    linkage_visual.draw_linkage(linkage, anchor_of, out)
    return out.meshes, out.feet


def test_bodies_of_a_linkage_lie_in_layers_and_pins_go_through_them():
    """A chain of two bars of length 2 and 4 on the ground: the mean span is 3."""
    chain = Linkage(
        ground={"O": (1.0, 2.0)},
        body=(body("a", P=(0.0, 0.0), Q=(2.0, 0.0)), body("b", P=(0.0, 0.0), Q=(0.0, 4.0))),
        joint=(Revolute(points=("ground.O", "a.P")), Revolute(points=("a.Q", "b.P"))),
        motor=(LinkageMotor(name="m", bodies=("ground", "a")),),
    )
    assert linkage_visual.linkage_layers(chain) == {"ground": 0, "a": 1, "b": 2}
    found, feet = drawn(chain)
    r = 0.034 * 3.0
    height = 2.1 * r
    bar = found[1, BODY][0]  # the first layer has the links' own colour, the second another
    np.testing.assert_allclose(spans(bar)[0], [-r, -r, height - r], atol=0.02 * r)
    np.testing.assert_allclose(spans(bar)[1], [2.0 + r, r, height + r], atol=0.02 * r)
    other = found[2, SECOND][0]
    np.testing.assert_allclose(spans(other)[0], [-r, -r, 2 * height - r], atol=0.02 * r)
    np.testing.assert_allclose(spans(other)[1], [r, 4.0 + r, 2 * height + r], atol=0.02 * r)
    pin, foot = found[0, JOINT]
    ends = [1 - 0.5 * r, 2 - 0.5 * r, -1.1 * r], [1 + 0.5 * r, 2 + 0.5 * r, height + 1.1 * r]
    np.testing.assert_allclose(spans(pin), ends, atol=1e-9)
    np.testing.assert_allclose(
        spans(foot), [[1 - 1.5 * r, 2 - 1.5 * r, -1.5 * r], [1 + 1.5 * r, 2 + 1.5 * r, 0.5 * r]],
        atol=1e-9,
    )  # fmt: skip
    housing, knee_pin = found[1, JOINT][:2]
    np.testing.assert_allclose(
        spans(housing), [[-1.25 * r, -1.25 * r, height - 1.15 * r],
                         [1.25 * r, 1.25 * r, height + 1.15 * r]], atol=1e-9,
    )  # fmt: skip
    np.testing.assert_allclose(spans(knee_pin)[0][2], height - 1.1 * r, **EXACT)
    np.testing.assert_allclose(spans(knee_pin)[1], [2 + 0.5 * r, 0.5 * r, 2 * height + 1.1 * r])
    assert len(found[1, ACCENT]) == 1  # the motor of the lower joint alone
    assert (2, ACCENT) not in found
    eyes = [*found[1, BODY][1:], *found[2, SECOND][1:], *found.get((2, BODY), ())]
    places = [mesh.vertices.mean(axis=0) for mesh in eyes]
    np.testing.assert_allclose(
        sorted(map(tuple, np.round(places, 9))),
        sorted([(2.0, 0.0, round(height, 9)), (0.0, 0.0, round(2 * height, 9))]), atol=1e-6,
    )  # fmt: skip
    ((foot,),) = (feet,)
    np.testing.assert_allclose(foot.at, [1.0, 2.0, 0.0], **EXACT)
    assert foot.radius == pytest.approx(1.1 * r)


def test_layers_of_bodies_that_no_joint_ties_to_the_ground_begin_above_it():
    loose = Linkage(
        body=tuple(body(name, P=(0.0, 0.0), Q=(2.0, 0.0)) for name in "abc"),
        joint=(Revolute(points=("a.Q", "b.P")),),
    )
    assert linkage_visual.linkage_layers(loose) == {"ground": 0, "a": 1, "b": 2, "c": 1}
    ring = Linkage(
        ground={"O": (0.0, 0.0)},
        body=tuple(body(name, P=(0.0, 0.0), Q=(2.0, 0.0)) for name in "abc"),
        joint=tuple(
            Revolute(points=pair)
            for pair in (("ground.O", "a.P"), ("a.Q", "b.P"), ("b.Q", "c.P"), ("c.Q", "ground.O"))
        ),
    )
    layer = linkage_visual.linkage_layers(ring)
    for first, second in (("ground", "a"), ("a", "b"), ("b", "c"), ("c", "ground")):
        assert layer[first] != layer[second]
    assert max(layer.values()) <= 2


def test_a_motor_sits_on_the_upper_of_the_bodies_that_it_turns():
    pair = Linkage(
        ground={"O": (0.0, 0.0)},
        body=(body("a", P=(0.0, 0.0), Q=(2.0, 0.0)), body("b", P=(0.0, 0.0), Q=(0.0, 2.0))),
        joint=(Revolute(points=("ground.O", "a.P")), Revolute(points=("a.Q", "b.P"))),
        motor=(LinkageMotor(name="m", bodies=("b", "a")),),
    )
    found, _ = drawn(pair)
    assert (2, ACCENT) in found
    assert (1, ACCENT) not in found


def test_what_slides_has_a_guide_on_the_rail_of_the_other():
    slide = Linkage(
        ground={"O": (1.0, 2.0)}, body=(body("a", P=(0.5, 0.0), Q=(2.5, 0.0)),),
        joint=(Prismatic(points=("a.P", "ground.O"), direction=0.3, angle=0.1),),
    )  # fmt: skip
    found, _ = drawn(slide)
    r, height = 0.034 * 2.0, 2.1 * 0.034 * 2.0
    rail, guide = found[0, JOINT][0], found[1, JOINT][0]

    def flat(angle, size, at):
        turn = Rotation.from_euler("z", angle).as_matrix()
        return primitive_meshes.box(*size).moved(turn, np.array(at)).vertices

    wanted = flat(0.3, (4.5 * 2.0, 0.7 * r, 1.05 * r), (1.0, 2.0, 0.0))
    np.testing.assert_allclose(rail.vertices, wanted, atol=1e-12)
    wanted = flat(0.2, (5.0 * r, 3.4 * r, 2.52 * r), (0.5, 0.0, 0.0))
    np.testing.assert_allclose(guide.vertices, wanted, atol=1e-12)
    assert spans(found[1, BODY][0])[0][2] == pytest.approx(height - r, abs=0.02 * r)


def test_bodies_are_plates_rods_or_squares_of_their_inertia():
    r = 0.1
    plate, = linkage_visual._bar(body("x", A=(0.0, 0.0), B=(2.0, 0.0), C=(0.0, 3.0)),
                               np.array([[0.0, 0], [2, 0], [0, 3]]), r)  # fmt: skip
    np.testing.assert_allclose(spans(plate)[0], [-0.115, -0.115, -0.06], atol=1e-3)
    np.testing.assert_allclose(spans(plate)[1], [2.115, 3.115, 0.06], atol=1e-3)
    in_line = np.array([[1.0, 0], [3, 0.001], [0, 0]])
    (rod,) = linkage_visual._bar(body("x"), in_line, r)
    np.testing.assert_allclose(spans(rod)[0], [-0.1, -0.1, -0.1], atol=3e-3)
    np.testing.assert_allclose(spans(rod)[1], [3.1, 0.1, 0.1], atol=3e-3)
    (square,) = linkage_visual._bar(body("x"), np.zeros((0, 2)), r)  # m a^2 / 6 = 1.5 kg m^2
    np.testing.assert_allclose(spans(square)[1][:2], [1.5 + 0.115] * 2, atol=1e-3)


def test_anchors_of_bodies_turn_and_shift_what_is_drawn():
    bar = Linkage(
        ground={"O": (1.0, 0.0)}, body=(body("a", P=(0.0, 0.0), Q=(2.0, 0.0)),),
        joint=(Revolute(points=("ground.O", "a.P")),),
    )  # fmt: skip
    upright = Rotation.from_euler("x", 0.5 * np.pi).as_matrix()
    shift = np.array([0.0, 5.0, 0.0])
    plain, (foot,) = drawn(bar)
    moved, (moved_foot,) = drawn(bar, {name: FrameAnchor(k, upright, shift)
                                       for k, name in enumerate(("ground", "a"))})  # fmt: skip
    for key, several in plain.items():
        for one, other in zip(several, moved[key], strict=True):
            np.testing.assert_allclose(other.vertices, one.vertices @ upright.T + shift, **EXACT)
    np.testing.assert_allclose(moved_foot.at, upright @ foot.at + shift, **EXACT)


# Geoms of an MJCF


def shown(geoms, *, head="", kind="visual", body='<body name="arm">'):
    """Return what is shown of geoms of a body that turns."""
    pytest.importorskip("mujoco")
    from ukctrl.robot.mjcf.geom_shapes import mjcf_shapes

    text = f"<mujoco>{head}<worldbody>{body}<joint/>{geoms}</body></worldbody></mujoco>"
    return mjcf_shapes(text, None, kind).shapes


@pytest.mark.parametrize(
    ("geom", "wanted"),
    [
        ('size="0.5"', primitive_meshes.sphere(0.5)),
        ('type="capsule" size="0.5 2"', primitive_meshes.capsule(0.5, -2.0, 2.0)),
        ('type="cylinder" size="0.5 2"', primitive_meshes.cylinder(0.5, -2.0, 2.0)),
        ('type="ellipsoid" size="1 2 3"', primitive_meshes.ellipsoid(np.array([1.0, 2.0, 3.0]))),
        ('type="box" size="1 2 3" pos="7 8 9" euler="10 20 30"',
         primitive_meshes.box(2.0, 4.0, 6.0).moved(
             Rotation.from_euler("XYZ", [10, 20, 30], degrees=True).as_matrix(),
             np.array([7.0, 8.0, 9.0]))),
        ('type="box" size="1 2 3" quat="1.4 0 1.4 0"',
         primitive_meshes.box(2.0, 4.0, 6.0).moved(
             Rotation.from_euler("y", 90, degrees=True).as_matrix(), np.zeros(3))),
    ],
)  # fmt: skip
def test_geoms_have_the_sizes_and_places_of_mujoco(geom, wanted):
    (found,) = shown(f"<geom {geom}/>")
    np.testing.assert_allclose(found.mesh.vertices, wanted.vertices, atol=1e-9)
    assert found.link == "arm"


@pytest.mark.parametrize("shape", ["capsule", "cylinder"])
def test_a_geom_may_reach_from_one_point_to_another(shape):
    (found,) = shown(f'<geom type="{shape}" size="0.5" fromto="1 1 1 4 1 5"/>')
    along = np.array([0.6, 0.0, 0.8])
    away = found.mesh.vertices - [2.5, 1.0, 3.0]
    across = away - np.outer(away @ along, along)
    reach = 3.0 if shape == "capsule" else 2.5
    assert np.abs(away @ along).max() == pytest.approx(reach)
    assert np.linalg.norm(across, axis=1).max() == pytest.approx(0.5)


def test_groups_above_2_and_what_cannot_be_seen_are_left_out():
    seen = [f'<geom size="{k + 1}" group="{k}"/>' for k in range(5)]
    found = shown("".join(seen) + '<geom size="9" rgba="1 0 0 0"/>')
    assert [np.abs(one.mesh.vertices).max() for one in found] == pytest.approx([1.0, 2.0, 3.0])


def test_what_collides_is_what_anything_may_touch():
    given = ['contype="0"', 'conaffinity="0"', 'contype="0" conaffinity="0"', 'group="4"',
             'contype="0" conaffinity="2"', 'rgba="1 0 0 0"']  # fmt: skip
    geoms = "".join(f'<geom size="{k + 1}" {one}/>' for k, one in enumerate(given))
    sizes = [np.abs(one.mesh.vertices).max() for one in shown(geoms, kind="collision")]
    assert sizes == pytest.approx([1.0, 2.0, 4.0, 5.0, 6.0])


def test_colours_are_those_of_the_geom_its_class_or_its_material():
    head = """<default><geom rgba="0 0 1 0.5"/><default class="red"><geom rgba="1 0 0 1"/>
    <default class="small"><geom size="0.25"/></default></default></default>
    <asset><material name="green" rgba="0 1 0 1"/></asset>"""
    found = shown("""<geom size="1"/><geom size="1" class="red"/><geom class="small"/>
    <geom size="1" rgba="0 0 0 1"/><geom size="1" rgba="0.5 0.5 0.5 1" material="green"/>""",
    head=head)  # fmt: skip
    assert [(*one.rgb, one.alpha) for one in found] == [
        (0, 0, 1, 0.5), (1, 0, 0, 1), (1, 0, 0, 1), (0, 0, 0, 1), (0, 1, 0, 1),
    ]  # fmt: skip
    assert np.abs(found[2].mesh.vertices).max() == pytest.approx(0.25)


# Proportions


def test_edges_of_a_box_follow_from_its_moments():
    mass, size = 3.0, np.array([0.2, 0.5, 0.9])
    squares = size**2
    moments = mass / 12.0 * (squares.sum() - squares)
    np.testing.assert_allclose(body_proportions.edges(mass, moments), size, **EXACT)
    np.testing.assert_allclose(
        body_proportions.edges(1.0, np.array([0.0, 0.0, 1.0]))[2], 0.0, **EXACT
    )


def inertia(mass, size):
    """Return the inertia of a box in a URDF, about its centre."""
    x, y, z = (edge**2 for edge in size)
    ixx, iyy, izz = (mass / 12.0 * one for one in (y + z, x + z, x + y))
    return (
        f'<mass value="{mass}"/><inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" '
        'iyz="0"/>'
    )


def arm_of(axis="0 0 1", foot="0 0 0.4", frames=()):
    """Return an arm of two links: it stands `foot` above its base, and is 0.5 m and 0.2 m long."""
    links = "".join(
        f'<link name="{name}"><inertial><origin xyz="{at}"/>{inertia(mass, size)}</inertial></link>'
        for name, mass, size, at in (
            ("upper", 3.0, (0.5, 0.1, 0.2), "0.25 0 0"),
            ("lower", 1.0, (0.3, 0.02, 0.02), "0.1 0 0"),
        )
    )  # fmt: skip
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}"/><axis xyz="{axis}"/>'
        '<limit lower="-2" upper="2" effort="7" velocity="3"/></joint>'
        for name, kind, parent, child, at in (
            ("base_joint", "revolute", "base", "upper", foot),
            ("elbow", "prismatic", "upper", "lower", "0.5 0 0"),
        )
    )
    tool = (
        '<link name="hand_tool"/><joint name="fixed" type="fixed"><parent link="lower"/>'
        '<child link="hand_tool"/><origin xyz="0.2 0 0"/></joint>'
    )
    text = f'<robot name="arm"><link name="base"/>{links}{joints}{tool}</robot>'
    return Robot.build(text, Options(frame=frames))


def sizes_of(*given):
    """Return the proportions of such an arm."""
    return body_proportions.BodyProportions(arm_of(*given).structure, ())


def test_a_robot_is_as_large_as_the_longest_way_to_an_end():
    arm = sizes_of()
    assert arm.size == pytest.approx(0.4 + 0.5 + 0.2)  # its foot, its links, its tool
    assert list(arm.joints) == [1, 2]
    assert {key: list(value) for key, value in arm.children.items()} == {0: [1], 1: [2], 2: []}
    np.testing.assert_allclose(arm.distal_mass[1:], [4.0, 1.0])
    ((joint, place),) = arm.ends(1)
    assert joint == 2
    np.testing.assert_allclose(place, [0.5, 0.0, 0.0], **EXACT)
    ((joint, place),) = arm.ends(2)
    assert joint == 0
    np.testing.assert_allclose(place, [0.2, 0.0, 0.0], **EXACT)
    assert "hand_tool" in {name for name, _ in arm.frames[2]}


def test_a_body_reaches_to_where_a_loop_is_closed_but_one_with_a_tool_ends_there_alone():
    pins = {"upper": (0.4, 0.3, 0.0), "lower": (0.1, 0.3, 0.0)}
    frames = [ExtraFrame(name=f"{x}_pin", parent=x, position=at) for x, at in pins.items()]
    structure = arm_of(frames=tuple(frames)).structure
    elbow, tool = (0.5, 0.0, 0.0), (0.2, 0.0, 0.0)
    for closures, upper in (((), {elbow}), (("upper_pin", "lower_pin"), {elbow, pins["upper"]})):
        sizes = body_proportions.BodyProportions(structure, closures)
        assert {tuple(at.tolist()) for _, at in sizes.ends(1)} == upper
        assert {tuple(at.tolist()) for _, at in sizes.ends(2)} == {tool}


@pytest.mark.parametrize("axis", ["0 0 1", "0 0 -1", "1 0 0"])
@pytest.mark.parametrize(
    ("foot", "rises"),
    [("0 0 0.4", True), ("0 0 -0.4", True), ("0.1 0 0.4", True), ("0.2 0 0.4", False)],
)
def test_a_first_joint_rises_against_gravity_or_along_its_axis(axis, foot, rises):
    arm = sizes_of(axis, foot)
    base, up = arm.base_offset(1)
    place = np.array(foot.split(), dtype=float)
    np.testing.assert_allclose(base, 0.0 * place if rises else place, **EXACT)
    np.testing.assert_allclose(up, place if rises else 0.0 * place, **EXACT)
    along = sizes_of("1 0 0", "0.4 0.1 0")
    np.testing.assert_allclose(along.base_offset(1)[1], [0.4, 0.1, 0.0], **EXACT)
    across = sizes_of("0 0 1", "0.4 0.1 0")
    np.testing.assert_allclose(across.base_offset(1)[1], 0.0, **EXACT)


def test_bodies_are_boxes_of_their_inertia_and_as_thick_as_what_they_carry():
    arm = sizes_of()
    for joint, size, at in ((1, (0.5, 0.1, 0.2), 0.25), (2, (0.3, 0.02, 0.02), 0.1)):
        edges, axes = arm.box(joint)
        np.testing.assert_allclose(sorted(edges), sorted(size), atol=1e-9)
        longest = axes[:, int(np.argmax(edges))]
        np.testing.assert_allclose(np.abs(longest), [1.0, 0.0, 0.0], atol=1e-9)
        assert np.linalg.det(axes) == pytest.approx(1.0)
        np.testing.assert_allclose(arm.com(joint), [at, 0.0, 0.0], **EXACT)
        assert arm.has_extent(joint)
    assert arm.ball_radius(1) == pytest.approx((3.0 * 3.0 / (4.0 * np.pi * 1000.0)) ** (1 / 3))
    thick = 0.038 * 1.1
    assert arm.radius(0) == pytest.approx(thick)
    assert arm.radius(1) == pytest.approx(thick)  # wider than that is the box itself
    whole = thick * (1.0 / 4.0) ** (1 / 3)
    assert arm.radius(2) == pytest.approx(0.55 * whole)  # thinner than that is the rod itself
    np.testing.assert_allclose(arm.axis(1), [0.0, 0.0, 1.0], **EXACT)
    np.testing.assert_allclose(arm.axis(2), [0.0, 0.0, 1.0], **EXACT)
    np.testing.assert_allclose(sizes_of("0 2 0").axis(2), [0.0, 1.0, 0.0], **EXACT)


@pytest.mark.parametrize("axis", ["0 0 1", "0 0 -1", "1 0 0", "0 1 0", "0 -1 0"])
def test_an_arm_whose_first_joint_is_at_its_base_stands_on_a_motor_below_or_beside_it(axis):
    robot = arm_of(axis, "0 0 0")
    r = sizes_of(axis, "0 0 0").radius(1)
    (foot,) = robot.look().mounts
    assert foot.radius == pytest.approx(1.1 * r)
    assert np.linalg.norm(foot.at) == pytest.approx(2.6 * r)
    if axis.startswith("0 0"):  # whichever its sign
        np.testing.assert_allclose(foot.at, [0.0, 0.0, -2.6 * r], atol=1e-12)
    assert abs(foot.at @ np.array(axis.split(), dtype=float)) == pytest.approx(2.6 * r)
    assert arm_of("0 0 1", "0 0 0.4").look().mounts == ()
