"""Write what all contestants get: samples of the Panda, simulated or of a log.

    python benchmarks/identification/samples.py OUT.npz --simulate N [--seed S]
    python benchmarks/identification/samples.py OUT.npz --log PATH

Simulated: sums of five sines in every joint, at 1 kHz; torques are Pinocchio's, with friction
``c tanh(v / 0.02) + d v + f`` and white noise. A log is a CSV table with columns ``time``, ``q1``
to ``q7`` and ``tau1`` to ``tau7``. It is brought to even times. Positions ``q`` are filtered by a
Butterworth filter of order 4 and 20 Hz, forwards and backwards, ``v`` and ``a`` are central
differences of them, half a second at each end is left out, and the last third is held out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy import signal

URDF = Path(__file__).resolve().parents[2] / "robots" / "panda" / "panda.urdf"
JOINTS, PERIOD = 7, 1e-3
HARMONICS, BASE, AMPLITUDE = 5, 0.1, 0.5
"""Sines in a joint, the lowest frequency [Hz], and their size [rad]."""
SCALE = 0.02
"""Speed at which Coulomb friction has nearly set in [rad/s]."""
NOISE = 0.05
"""Deviation of the torques' noise [N m]."""
ORDER, CUTOFF = 4, 20.0
"""Of the filter of a log's positions [Hz]."""
MARGIN = 0.5
"""What is left out at the ends of a log [s]."""
HELD_OUT = 1.0 / 3.0


def simulated(n: int, seed: int) -> dict[str, np.ndarray]:
    """Return a motion of the catalogue's Panda."""
    rng = np.random.default_rng(seed)
    model = pin.buildModelFromUrdf(str(URDF))
    data, t = model.createData(), np.arange(n) * PERIOD
    q = np.tile(rng.uniform(-0.5, 0.5, JOINTS), (n, 1))
    v, a = np.zeros((2, n, JOINTS))
    for k in range(1, HARMONICS + 1):
        w = 2.0 * np.pi * BASE * k * rng.uniform(0.9, 1.1, JOINTS)
        angle, size = np.outer(t, w) + rng.uniform(0.0, 6.0, JOINTS), AMPLITUDE / k
        q += size * np.sin(angle)
        v += size * w * np.cos(angle)
        a -= size * w**2 * np.sin(angle)
    coulomb, viscous, offset = rng.uniform(
        [[0.2], [0.1], [-0.3]], [[1.0], [1.0], [0.3]], (3, JOINTS)
    )
    tau = np.empty((n, JOINTS))
    for k in range(n):
        tau[k] = pin.rnea(model, data, q[k], v[k], a[k])
    tau += coulomb * np.tanh(v / SCALE) + viscous * v + offset
    return {"t": t, "q": q, "v": v, "a": a, "tau": tau + NOISE * rng.standard_normal((n, JOINTS))}


def of_log(path: Path) -> dict[str, np.ndarray]:
    """Return a log at even times, and what is derived of it."""
    table = np.genfromtxt(path, delimiter=",", names=True)
    steps = np.diff(table["time"])
    t = np.arange(table["time"][0], table["time"][-1], np.median(steps))
    raw, tau = (
        np.column_stack([
            np.interp(t, table["time"], table[f"{name}{k + 1}"]) for k in range(JOINTS)
        ])
        for name in ("q", "tau")
    )  # fmt: skip
    period = float(t[1] - t[0])
    sections = signal.butter(ORDER, CUTOFF, fs=1.0 / period, output="sos")
    q = signal.sosfiltfilt(sections, raw, axis=0)
    v = np.gradient(q, period, axis=0)
    a = np.gradient(v, period, axis=0)
    edge = round(MARGIN / period)
    inner = slice(edge, len(t) - edge)
    found = {"t": t, "raw": raw, "q": q, "v": v, "a": a, "tau": tau}
    cut = {name: channel[inner] for name, channel in found.items()}
    return cut | {"split": np.array(int(len(cut["t"]) * (1.0 - HELD_OUT)))}


def main() -> None:
    """Write the samples."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--simulate", type=int, metavar="N")
    source.add_argument("--log", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = of_log(options.log) if options.log else simulated(options.simulate, options.seed)
    np.savez(options.out, urdf=str(URDF), scale=SCALE, **found)


if __name__ == "__main__":
    main()
