r"""Rows of the equation that is linear in inertial parameters, sample by sample, compiled.

With $s$ the motion that one velocity gives a body, in the axes of its joint, $a$ the acceleration
of the joint's origin against gravity, and $\omega$, $\dot\omega$ the body's turning, that velocity
feels of a body

$$ s_v \cdot (m\,a + \dot\omega \times h + \omega \times (\omega \times h))
   + s_\omega \cdot (h \times a + I \dot\omega + \omega \times I \omega), $$

linear in $m$, $h = m c$ and the entries of $I$ about the origin (Atkeson, An & Hollerbach 1986).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.compiled import compiled, inlined
from ukctrl.robot.rigid.tree_kernels import (
    IV,
    NV,
    PARENT,
    KinematicTree,
    TreeBuffers,
    forward_pass,
)
from ukctrl.robot.spatial_kernels import (
    dot,
    rotate_spatial_back,
    rotation_at,
    row3,
    row6,
    shift_motion,
    write_row6,
)
from ukctrl.robot.twist_kernels import Triple, Twist, add_scaled, add_scaled_twist, cross

PARAMETERS = 10
"""Inertial parameters of a body."""


@inlined
def body_coefficients(s: Twist, a: Triple, w: Triple, dw: Triple) -> tuple[Triple, Twist, float]:
    """Return what a velocity feels of each inertial parameter: first moments, inertia, mass.

    The inertia's come as ``(xx, xy, yy), (xz, yz, zz)``.
    """
    sv, sw = s
    turned = cross(w, cross(w, sv))
    moment = add_scaled(add_scaled(turned, -1.0, cross(dw, sv)), 1.0, cross(a, sw))
    g = cross(sw, w)
    xx, yy, zz = (
        sw[0] * dw[0] + g[0] * w[0],
        sw[1] * dw[1] + g[1] * w[1],
        sw[2] * dw[2] + g[2] * w[2],
    )
    xy = sw[0] * dw[1] + sw[1] * dw[0] + g[0] * w[1] + g[1] * w[0]
    xz = sw[0] * dw[2] + sw[2] * dw[0] + g[0] * w[2] + g[2] * w[0]
    yz = sw[1] * dw[2] + sw[2] * dw[1] + g[1] * w[2] + g[2] * w[1]
    return moment, ((xx, xy, yy), (xz, yz, zz)), dot(sv, a)


@compiled
def inertial_rows(
    tree: KinematicTree,
    buffers: TreeBuffers,
    q: Matrix,
    v: Matrix,
    a: Matrix,
    columns: Indices,
    spatial: Matrix,
    blocks: NDArray[np.float64],
) -> None:
    """Write the rows of every velocity at ``n`` samples.

    Args:
        tree: Joints and bodies; its inertias are not read.
        buffers: What recursions write; the world's acceleration is that against gravity.
        q: Configurations, shape ``(n, nq)``.
        v: Velocities, shape ``(n, nv)``.
        a: Accelerations, shape ``(n, nv)``.
        columns: Where a velocity's block has a parameter, or -1 where nowhere, shape
            ``(nv, 10 k)``.
        spatial: Scratch, shape ``(k + 1, 6)``: what the accelerations of joints do.
        blocks: Receives the rows, shape ``(nv, width, n)`` at least; what no parameter is written
            to is left as it is.
    """
    for sample in range(len(q)):
        forward_pass(tree, buffers, q[sample], v[sample])
        for j in range(1, len(tree.joints)):
            iv = tree.joints[j, IV]
            by_a = shift_motion(row6(spatial, tree.joints[j, PARENT]), row3(buffers.offsets, j))
            for c in range(iv, iv + tree.joints[j, NV]):
                by_a = add_scaled_twist(by_a, a[sample, c], row6(buffers.axes, c))
            write_row6(by_a, spatial, j)
            R = rotation_at(buffers.rotations, j)
            velocity = rotate_spatial_back(R, row6(buffers.velocity, j))
            rise = rotate_spatial_back(
                R, add_scaled_twist(by_a, 1.0, row6(buffers.acceleration, j))
            )
            origin = add_scaled(rise[0], 1.0, cross(velocity[1], velocity[0]))
            away, b, first = (0.0, 0.0, 0.0), j, PARAMETERS * (j - 1)
            while b > 0:
                start = tree.joints[b, IV]
                for c in range(start, start + tree.joints[b, NV]):
                    if columns[c, first] == -2:  # no parameter of this body is asked for here
                        continue
                    s = rotate_spatial_back(R, shift_motion(row6(buffers.axes, c), away))
                    h, (top, low), m = body_coefficients(s, origin, velocity[1], rise[1])
                    values = (m, h[0], h[1], h[2], top[0], top[1], top[2], low[0], low[1], low[2])
                    for k in range(PARAMETERS):
                        at = columns[c, first + k]
                        if at >= 0:
                            blocks[c, at, sample] = values[k]
                away = add_scaled(away, 1.0, row3(buffers.offsets, b))
                b = tree.joints[b, PARENT]
