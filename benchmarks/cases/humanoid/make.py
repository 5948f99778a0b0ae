"""Write humanoid.urdf: a robot of a grown person's size, floating pelvis and 30 joints.

The numbers are nobody's product: lengths and masses of a person of 1.6 m and 58 kg, every link
a box of even density, because a benchmark needs the size and not the make.

    python benchmarks/cases/humanoid/make.py
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}


class Link(NamedTuple):
    """A box on a joint."""

    name: str
    parent: str
    joint: str
    """Name of the joint; empty: fixed."""
    axis: str
    place: tuple[float, float, float]
    """Origin in the parent [m]."""
    mass: float = 0.0
    """Zero: a frame alone [kg]."""
    box: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Its edges [m]."""
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Its centre [m]."""


def leg(side: str, y: float) -> list[Link]:
    """Return six joints from the pelvis to the ankle, and the frame of the sole."""
    return [
        Link(f"{side}_hip_a", "pelvis", f"{side}_hip_yaw", "z", (0, y, 0), 0.8, (0.1, 0.1, 0.1)),
        Link(f"{side}_hip_b", f"{side}_hip_a", f"{side}_hip_roll", "x", (0, 0, 0), 0.8, (0.1,) * 3),
        Link(
            f"{side}_thigh", f"{side}_hip_b", f"{side}_hip_pitch", "y", (0, 0, 0),
            5.5, (0.14, 0.14, 0.4), (0, 0, -0.2),
        ),
        Link(
            f"{side}_shin", f"{side}_thigh", f"{side}_knee", "y", (0, 0, -0.42),
            3.0, (0.1, 0.1, 0.4), (0, 0, -0.2),
        ),
        Link(
            f"{side}_ankle", f"{side}_shin", f"{side}_ankle_pitch", "y", (0, 0, -0.42),
            0.4, (0.06, 0.06, 0.06),
        ),
        Link(
            f"{side}_foot", f"{side}_ankle", f"{side}_ankle_roll", "x", (0, 0, 0),
            1.0, (0.24, 0.1, 0.05), (0.04, 0, -0.035),
        ),
        Link(f"{side}_sole", f"{side}_foot", "", "", (0, 0, -0.06)),
    ]  # fmt: skip


def arm(side: str, y: float) -> list[Link]:
    """Return seven joints from the chest to the hand."""
    return [
        Link(
            f"{side}_shoulder_a", "chest", f"{side}_shoulder_pitch", "y", (0, y, 0.4),
            0.6, (0.08, 0.08, 0.08),
        ),
        Link(
            f"{side}_shoulder_b", f"{side}_shoulder_a", f"{side}_shoulder_roll", "x", (0, 0, 0),
            0.6, (0.08, 0.08, 0.08),
        ),
        Link(
            f"{side}_upper_arm", f"{side}_shoulder_b", f"{side}_shoulder_yaw", "z", (0, 0, 0),
            1.6, (0.09, 0.09, 0.28), (0, 0, -0.14),
        ),
        Link(
            f"{side}_elbow_body", f"{side}_upper_arm", f"{side}_elbow", "y", (0, 0, -0.3),
            0.4, (0.07, 0.07, 0.07),
        ),
        Link(
            f"{side}_forearm", f"{side}_elbow_body", f"{side}_elbow_turn", "z", (0, 0, 0),
            0.9, (0.07, 0.07, 0.22), (0, 0, -0.12),
        ),
        Link(
            f"{side}_wrist", f"{side}_forearm", f"{side}_wrist_pitch", "y", (0, 0, -0.25),
            0.2, (0.05, 0.05, 0.05),
        ),
        Link(
            f"{side}_palm", f"{side}_wrist", f"{side}_wrist_roll", "x", (0, 0, 0),
            0.4, (0.04, 0.08, 0.12), (0, 0, -0.06),
        ),
        Link(f"{side}_hand", f"{side}_palm", "", "", (0, 0, -0.08)),
    ]  # fmt: skip


LINKS = [
    Link("pelvis", "", "", "", (0, 0, 0), 8.0, (0.2, 0.3, 0.15)),
    *leg("left", 0.1),
    *leg("right", -0.1),
    Link("waist_a", "pelvis", "waist_yaw", "z", (0, 0, 0.1), 0.8, (0.1, 0.1, 0.1)),
    Link("waist_b", "waist_a", "waist_roll", "x", (0, 0, 0), 0.8, (0.1, 0.1, 0.1)),
    Link("chest", "waist_b", "waist_pitch", "y", (0, 0, 0), 14.0, (0.2, 0.32, 0.42), (0, 0, 0.2)),
    *arm("left", 0.2),
    *arm("right", -0.2),
    Link("head", "chest", "neck_yaw", "z", (0, 0, 0.5), 4.0, (0.18, 0.16, 0.24), (0, 0, 0.12)),
]


def text(values: tuple[float, ...]) -> str:
    """Return numbers as an attribute."""
    return " ".join(f"{value:g}" for value in values)


def inertial(link: Link) -> list[str]:
    """Return the lines of a box's inertia."""
    x, y, z = (edge * edge for edge in link.box)
    ixx, iyy, izz = (link.mass / 12.0 * both for both in (y + z, x + z, x + y))
    return [
        "    <inertial>",
        f'      <origin xyz="{text(link.com)}"/>',
        f'      <mass value="{link.mass:g}"/>',
        f'      <inertia ixx="{ixx:.6g}" ixy="0" ixz="0" iyy="{iyy:.6g}" iyz="0" izz="{izz:.6g}"/>',
        "    </inertial>",
    ]


def urdf() -> str:
    """Return the model's text."""
    lines = ['<?xml version="1.0"?>', "<!-- written by make.py -->", '<robot name="humanoid">']
    for link in LINKS:
        if link.mass:
            lines += [f'  <link name="{link.name}">', *inertial(link), "  </link>"]
        else:
            lines += [f'  <link name="{link.name}"/>']
    for link in LINKS[1:]:
        kind = "revolute" if link.joint else "fixed"
        lines += [
            f'  <joint name="{link.joint or link.name + "_mount"}" type="{kind}">',
            f'    <parent link="{link.parent}"/>',
            f'    <child link="{link.name}"/>',
            f'    <origin xyz="{text(link.place)}"/>',
        ]
        if link.joint:
            lines += [
                f'    <axis xyz="{AXES[link.axis]}"/>',
                '    <limit lower="-2.8" upper="2.8" effort="200" velocity="12"/>',
            ]
        lines += ["  </joint>"]
    return "\n".join([*lines, "</robot>", ""])


if __name__ == "__main__":
    (HERE / "humanoid.urdf").write_text(urdf(), encoding="utf-8")
