"""What Gaz et al. print of the Panda whose log they publish, as torques along the same motion.

``bodies`` are the parameters that they retrieved, which are those of the catalogue's URDF without
its hand, with the sigmoid friction of their Table I; ``base`` are the base parameters and friction
of their classical identification from this very log, all of it (Table III): numbers as printed in
the supplement to C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano and A. De Luca, "Dynamic
identification of the Franka Emika Panda robot with retrieval of feasible parameters using
penalty-based optimization", IEEE RA-L 4(4), 2019. Their factors of masses are products of the
lengths 0.316, 0.384, 0.088 and 0.0825 m, rounded; here they are exact.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pinocchio as pin
from protocol import Clock, Samples, answer

SIGMOID = np.array([
    [0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489],
    [5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336],
    [0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526],
])  # fmt: skip
"""Level [N m], slope [s/rad] and shift [rad/s] of each joint's friction."""
VISCOUS = np.array([0.0665, 0.1987, 0.0399, 0.2257, 0.1023, -0.0132, 0.0638])
COULOMB = np.array([0.2450, 0.1523, 0.1827, 0.3591, 0.2669, 0.1658, 0.2109])
OFFSET = np.array([-0.1073, -0.1566, -0.0686, -0.2522, 0.0045, 0.0910, -0.0127])
BASE = """
J2yy + J1zz = 0.0204
J2xx - J2yy + J3yy + 0.632 h3z + 0.099856 m3 + 0.106663 m4567 = 0.9188
J2xy = -0.0033
J2xz = 0.0042
J2yz = -0.0155
J3yy + J2zz + 0.632 h3z + 0.099856 m3 + 0.106663 m4567 = 0.9346
J3xx - J3yy + J4yy - 0.00680625 m4 = 0.0149
J3xy + 0.0825 h4z = 0.0127
J3xz = -0.0061
J3yz = -0.0138
J4yy + J3zz + 0.00680625 m4 + 0.0136125 m567 = 0.0825
J4xx - J4yy + J5yy + 0.768 h5z + 0.14065 m567 = 0.5462
J4xy + 0.03168 m567 + 0.0825 h5z = 0.1202
J4xz = 0.0040
J4yz = 0.0078
J5yy + J4zz + 0.15426225 m567 + 0.768 h5z = 0.6196
J5xx - J5yy + J6yy + 0.007744 m7 = 0.0114
J5xy = 0.0036
J5xz = -0.0102
J5yz = 0.0080
J6yy + J5zz + 0.007744 m7 = 0.0216
J6xx - J6yy + J7yy - 0.007744 m7 = -0.0157
J6xy + 0.088 h7z = 0.0014
J6xz = 0.0047
J6yz = 0.0006
J7yy + J6zz + 0.007744 m7 = 0.0145
J7xx - J7yy = 0.0024
J7xy = 0.0049
J7xz = 0.0023
J7yz = -0.0027
J7zz = -0.0043
h2x = 0.0288
h2y - 0.316 m34567 - h3z = -3.1363
0.0825 m4567 + h3x = 0.6803
h3y - h4z = -0.0121
h4x - 0.0825 m567 = -0.4726
0.384 m567 + h4y + h5z = 1.7517
h5x = -0.0005
h5y - h6z = 0.0817
0.088 m7 + h6x = 0.1637
h6y - h7z = -0.0623
h7x = 0.0013
h7y = 0.0048
"""
"""``h`` is the first moment, ``J`` the inertia about the joint's origin; ``m567`` are three masses.
"""
INERTIA = ("xx", "xy", "yy", "xz", "yz", "zz")


def printed_base() -> np.ndarray:
    """Return inertial parameters, ten a link, that have the printed base parameters."""
    rows, values = [], []
    for line in BASE.strip().splitlines():
        formula, _, value = line.partition("=")
        row = np.zeros((7, 10))
        for sign, factor, name in re.findall(r"([+-]?) ?([\d.]+ )?([Jhm]\d+[xyz]*)", formula):
            links, axes = name[1:].rstrip("xyz"), name.lstrip("Jhm0123456789")
            place = 4 + INERTIA.index(axes) if name[0] == "J" else "mxyz".index(axes or "m")
            size = float(factor or 1.0)
            row[[int(link) - 1 for link in links], place] = -size if sign == "-" else size
        rows.append(row.ravel())
        values.append(float(value))
    return np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0]


def log(samples: Samples, clock: Clock) -> dict[str, Any]:
    """Return the torques that the printed numbers give where the log was held out."""
    model = pin.buildModelFromUrdf(str(samples["urdf"]))
    alone = pin.buildModelFromUrdf(str(samples["urdf"]))
    # of the catalogue's last body, that of link7 and hand, link7 alone
    link7 = pin.Inertia(
        0.735522, np.array([0.010517, -0.004252, 0.061597]),
        np.array([
            [0.012516, -0.000428, -0.001196],
            [-0.000428, 0.010027, -0.000741],
            [-0.001196, -0.000741, 0.004815],
        ]),
    )  # fmt: skip
    alone.inertias[7] = link7
    data, values = model.createData(), printed_base()
    held = slice(int(samples["split"]), None)
    q, v, a = (samples[name][held] for name in ("q", "v", "a"))
    level, slope, shift = SIGMOID
    bodies = level / (1.0 + np.exp(-slope * (v + shift))) - level / (1.0 + np.exp(-slope * shift))
    base = VISCOUS * v + COULOMB * np.sign(v) + OFFSET
    own = alone.createData()
    for k in range(len(q)):
        bodies[k] += pin.rnea(alone, own, q[k], v[k], a[k])
        regressor = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        base[k] += regressor @ values
    clock.lap("torques")
    return {"base": base, "bodies": bodies}


if __name__ == "__main__":
    answer({"log": log}, f"pin {pin.__version__}")
