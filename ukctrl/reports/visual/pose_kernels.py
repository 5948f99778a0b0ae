"""Where joints are at many configurations, compiled, as positions and quaternions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, deferred, inlined
from ukctrl.core.expression.interpreter import run_operations
from ukctrl.robot.rigid.tree_kernels import (
    IQ,
    IV,
    KIND,
    PARENT,
    PRISMATIC,
    REVOLUTE_X,
    KinematicTree,
    joint_transform,
    rotate_about_axis,
)
from ukctrl.robot.spatial_kernels import (
    Rotation,
    composed,
    rotate,
    rotation_at,
    row3,
    write_rotation,
    write_row3,
)
from ukctrl.robot.twist_kernels import add_scaled

QuaternionWxyz = tuple[float, float, float, float]


@inlined
def quaternion_of(R: Rotation) -> QuaternionWxyz:
    """Return the unit quaternion ``w x y z`` of a rotation, from its largest component."""
    x, y, z = R[0][0], R[1][1], R[2][2]
    if x + y + z > 0.0:
        s = 2.0 * np.sqrt(1.0 + x + y + z)
        w = 0.25 * s, (R[2][1] - R[1][2]) / s, (R[0][2] - R[2][0]) / s, (R[1][0] - R[0][1]) / s
    elif x >= y and x >= z:
        s = 2.0 * np.sqrt(1.0 + x - y - z)
        w = (R[2][1] - R[1][2]) / s, 0.25 * s, (R[0][1] + R[1][0]) / s, (R[0][2] + R[2][0]) / s
    elif y >= z:
        s = 2.0 * np.sqrt(1.0 - x + y - z)
        w = (R[0][2] - R[2][0]) / s, (R[0][1] + R[1][0]) / s, 0.25 * s, (R[1][2] + R[2][1]) / s
    else:
        s = 2.0 * np.sqrt(1.0 - x - y + z)
        w = (R[1][0] - R[0][1]) / s, (R[0][2] + R[2][0]) / s, (R[1][2] + R[2][1]) / s, 0.25 * s
    return w


@deferred
def write_joint_poses(
    tree: KinematicTree,
    shown: Indices,
    q: Matrix,
    rotations: NDArray[np.float64],
    translations: Matrix,
    position: NDArray[np.float64],
    quaternion: NDArray[np.float64],
) -> None:
    """Write where some joints are at many configurations.

    Args:
        tree: The joints.
        shown: Which of them to write, shape ``(c,)``; 0 is the world.
        q: Shape ``(n, nq)``.
        rotations: Room for those of all joints, that of the world written, shape ``(k, 3, 3)``.
        translations: The same, shape ``(k, 3)``.
        position: Receives places in the world, shape ``(n, c, 3)``.
        quaternion: Receives orientations, ``w x y z``, shape ``(n, c, 4)``.
    """
    for i in range(len(q)):
        for j in range(1, len(tree.joints)):
            parent, kind, iq = tree.joints[j, PARENT], tree.joints[j, KIND], tree.joints[j, IQ]
            base = rotation_at(rotations, parent)
            translation = add_scaled(
                row3(translations, parent), 1.0, rotate(base, row3(tree.translations, j))
            )
            R = composed(base, rotation_at(tree.rotations, j))
            if kind >= REVOLUTE_X:
                R, _ = rotate_about_axis(kind, R, np.cos(q[i, iq]), np.sin(q[i, iq]))
            else:
                turn, moved = joint_transform(kind, iq, tree.subspace[tree.joints[j, IV]], q[i])
                translation = add_scaled(translation, 1.0, rotate(R, moved))
                if kind != PRISMATIC:
                    R = composed(R, turn)
            write_rotation(R, rotations, j)
            write_row3(translation, translations, j)
        for k in range(len(shown)):
            for c in range(3):
                position[i, k, c] = translations[shown[k], c]
            w = quaternion_of(rotation_at(rotations, shown[k]))
            for c in range(4):
                quaternion[i, k, c] = w[c]


@compiled
def evaluate_over_motion(
    code: Indices,
    table: Vector,
    w: Vector,
    inputs: Indices,
    q: Matrix,
    t: Vector,
    outputs: Indices,
    out: Matrix,
) -> int:
    """Write what a formula of a configuration and the time gives at many; return at how many.

    Where it has no finite value, what it gave before stays; see
    `ukctrl.core.expression.interpreter`.
    """
    many = 0
    for i in range(len(t)):
        for k in range(len(inputs)):
            w[inputs[k, 2]] = q[i, inputs[k, 1]] if inputs[k, 0] == 0 else t[i]
        if run_operations(code, table, w, 0) < 0:
            for k in range(len(outputs)):
                out[i, k] = w[outputs[k]]
            many += 1
        elif i > 0:
            for k in range(len(outputs)):
                out[i, k] = out[i - 1, k]
    return many


@deferred
def make_continuous(quaternion: NDArray[np.float64]) -> None:
    """Choose the sign of every quaternion, one after the other, that is nearer to the last one."""
    for i in range(1, len(quaternion)):
        for k in range(quaternion.shape[1]):
            same = 0.0
            for c in range(4):
                same += quaternion[i, k, c] * quaternion[i - 1, k, c]
            if same < 0.0:
                for c in range(4):
                    quaternion[i, k, c] = -quaternion[i, k, c]
