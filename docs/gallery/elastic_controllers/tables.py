"""The tables of the page."""

from __future__ import annotations

import numpy as np
from experiments import LAWS, SOFT, apart, panda, paper
from markdown_text import error, fixed, table
from one_joint import longest

from ukctrl import Controller, Scenario, control, simulate

SLOW = True
SAME_MOTION = 1e-8
"""Two integrations to a relative 1e-9, or tighter, of some rad differ by this [rad, rad/s]."""
SHORT = {"timing__duration": 2.0}
FAST_POLES = {"controller__alpha": 1200.0, "controller__beta": 360000.0}
"""Poles of the linearisation at 600 1/s."""
INTEGRAL = {"controller__feedback": {"kind": "pid", "kp": 300.0, "ki": 1000.0, "kd": 30.0}}
"""Poles of the links at 10 1/s, three of them."""
WRONG = {
    "all right": {},
    "stiffness −30 %": {"believed__stiffness_scale": 0.7},
    "stiffness +30 %": {"believed__stiffness_scale": 1.3},
    "masses −30 %": {"believed__mass_scale": 0.7},
    "masses +30 %": {"believed__mass_scale": 1.3},
}
PERIODS = (0.5, 1.0, 2.0, 3.0, 4.0)
FEEDBACK = control.Baumgarte(alpha=20.0, beta=100.0)


def millimetres(value: float) -> str:
    """Return a tool error with two digits, or that there is none."""
    if not np.isfinite(value):
        return "unstable"
    return fixed(value, 2) if value < 10.0 else fixed(value, 0)


def arm() -> str:
    """Return how the laws hold the tool, at 1 kHz."""
    rows = []
    for law, card in LAWS.items():
        found = panda(law)
        cells = [millimetres(found.rms), millimetres(found.peak), fixed(found.peak_u, 1)]
        rows.append([law, f"`{card}`", *cells])
    return table(["law", "card", "rms [mm]", "peak [mm]", "largest torque [N m]"], rows)


def mismatch() -> str:
    """Return what wrong models cost."""
    laws = [(law, law, {}) for law in LAWS]
    laws.append(("linearisation, poles at 600 1/s", "linearisation", FAST_POLES))
    laws.append(("cascade, integral in the feedback", "cascade", INTEGRAL))
    rows = []
    for words, law, more in laws:
        runs = (panda(law, **SHORT, **more, **wrong) for wrong in WRONG.values())
        rows.append([words, *(millimetres(run.rms) for run in runs)])
    return table(["rms of the tool [mm], believing", *WRONG], rows)


def periods() -> str:
    """Return how the laws bear slower sampling."""
    rows = [
        [
            law,
            *(
                millimetres(panda(law, timing__duration=1.0, timing__control=period / 1e3).rms)
                for period in PERIODS
            ),
        ]
        for law in LAWS
    ]
    return table(["rms of the tool [mm], control period", *(f"{p:g} ms" for p in PERIODS)], rows)


def one_joint() -> str:
    """Return the longest stable control period of one joint."""
    laws: list[tuple[str, Controller]] = []
    for pole in (40.0, 100.0, 250.0, 800.0):
        loop = {"feedback": FEEDBACK, "alpha": 2.0 * pole, "beta": pole**2}
        laws.append((f"cascade, motor loop at {pole:g} 1/s", control.ElasticCascade(**loop)))
        laws.append((f"linearisation, poles at {pole:g} 1/s", control.ElasticLinearisation(**loop)))
    laws.sort(key=lambda one: one[0].split(",")[0])
    for zeta in (0.3, 0.7, 1.0):
        name = f"singular perturbation and integral manifold, damping ratio {zeta:g}"
        laws.append((name, control.ElasticSingularPerturbation(feedback=FEEDBACK, zeta=zeta)))
    rows = [[name, fixed(1e3 * longest(law), 1)] for name, law in laws]
    return table(["law", "longest stable period [ms]"], rows)


def order() -> str:
    """Return with which power of the stiffness the rigid motion is met."""
    rows = []
    for law in SOFT:
        far, near = apart(law, 1e4), apart(law, 1e5)
        power = "—" if near < SAME_MOTION else fixed(np.log10(far / near), 2)
        found = (error(apart(law, K), SAME_MOTION) for K in (10.0, 1e2, 1e3, 1e4, 1e5))
        rows.append([law, *found, power])
    stiffness = ("K = 10 N m/rad", "10²", "10³", "10⁴", "10⁵")
    return table(["links from the rigid motion [rad]", *stiffness, "power of 1/K"], rows)


def soft() -> str:
    """Return what the laws make of the review paper's task."""
    links = simulate(Scenario.load("flexible-joint-arm-links"))
    rows = []
    for law in SOFT:
        on, off = paper(law, relaxed=False), paper(law, relaxed=True)
        far = float(np.abs(on["q"][:, :2] - links["q"]).max())
        wrong = float(np.abs(off["beta"][:, 0] - 0.9 * np.exp(-2.5 * off.time))[-1])
        torque = fixed(float(np.abs(off["u"]).max()), 0)
        rows.append([law, error(far, SAME_MOTION), error(wrong, SAME_MOTION), torque])
    return table(
        [
            "law",
            "motors where the motion wants them: links from the motion [rad]",
            "springs relaxed: error of the row at 3 s [rad/s]",
            "largest torque then [N m]",
        ],
        rows,
    )


TABLES = {
    "arm": arm,
    "mismatch": mismatch,
    "periods": periods,
    "one-joint": one_joint,
    "order": order,
    "soft": soft,
}
FACTS: dict[str, object] = {}
