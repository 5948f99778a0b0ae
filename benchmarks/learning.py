"""What trials are worth: errors after 1, 2, 5 and 10 of them, beside laws of the same bandwidth.

Writes the table of the page on baselines::

    python benchmarks/learning.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping

from ukctrl import ErrorSpec, Learning, Scenario, designed, learn, simulate

BANDWIDTH = 40.0
"""Of every loop [rad/s]."""
COUNTS = (0, 1, 2, 5, 10)
"""Trials after which errors are told."""
MEASURED = (
    {"kind": "noise", "std": 2e-6},
    {"kind": "differentiation", "cutoff": 60.0},
)
CASES: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "SCARA on its bench, 0.5 kg taken up on the way": ("scara-helix-bench", {}),
    "UR5, 2 kg": (
        "ur5-pose",
        {
            "timing.control": 1e-3,
            "effect": (*MEASURED, {"kind": "payload", "frame": "tool", "mass": 2.0}),
        },
    ),
}
LAWS = ("servo-baumgarte", "servo-pid", "servo-momentum-observer")
"""The first of them practises."""


def errors(name: str, changes: Mapping[str, object]) -> dict[str, float]:
    """Return the rms errors of the laws, and of the first one after trials [m, rad]."""
    found: dict[str, float] = {}
    for law in LAWS:
        scenario = Scenario.load(name, {"controller": {"use": law}}).replace(changes)
        scenario = scenario.replace(designed(scenario, ErrorSpec(bandwidth=BANDWIDTH)).gains)
        if law == LAWS[0]:
            with tempfile.TemporaryDirectory() as folder:
                practice = learn(scenario, Learning(trials=max(COUNTS)), folder=folder)
                lighter = practice.learned.replace({"effect": practice.learned.effect[:-1]})
                elsewhere = simulate(lighter).metric("rms_phi")
            found |= {f"{law}, {count} trials": practice.errors[count] for count in COUNTS}
            found["the last, without the payload"] = elsewhere
        else:
            found[law] = simulate(scenario).metric("rms_phi")
    return found


if __name__ == "__main__":
    for title, case in CASES.items():
        print(title)
        for law, error in errors(*case).items():
            print(f"  {law:<32} {1e3 * error:8.3f}")
