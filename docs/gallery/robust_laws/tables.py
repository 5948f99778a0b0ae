"""The tables of the page: promises kept by two hundred robots, and what the laws are good for."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import plants
from markdown_text import table

from ukctrl import Result, Scenario, linear, simulate

SLOW = True

CONTROLLERS = (
    "servo-baumgarte",
    "servo-pid",
    "servo-sliding",
    "servo-chen-robust",
    "servo-adaptive-robust",
    "servo-lyapunov",
)
AS_STIFF = "servo-chen-robust"
STIFF = ("servo-baumgarte", "servo-momentum-observer")
"""Laws that know nothing of robustness, with the poles that `AS_STIFF` has near the path."""
COLUMNS = {
    **{c: f"`{c}`" for c in CONTROLLERS},
    **{f"stiff {c}": f"`{c}`, as stiff" for c in STIFF},
}
PAYLOAD = {"kind": "payload", "frame": "tool", "mass": 0.2}
MORE = {**PAYLOAD, "mass": 0.5}
NOISE = {"kind": "noise", "std": 2e-5, "v_std": 2e-3}
CASES: dict[str, Mapping[str, object]] = {
    "the model is right": {},
    "the model is 30 % too light": {"believed": {"mass_scale": 0.7}},
    "an untold payload of 0.2 kg": {"effect": [PAYLOAD]},
    "an untold payload of 0.5 kg": {"effect": [MORE]},
    "the model is right, held for 1 ms": {"timing.control": 1e-3},
    "the model is right, held for 5 ms": {"timing.control": 5e-3},
    "the model is right, held for 1 ms, noise": {"timing.control": 1e-3, "effect": [NOISE]},
}
"""Cases on the SCARA's helix, with every card as it is."""


@functools.cache
def survey(law: str, off: float) -> list[plants.Verdict]:
    """Return how a law kept its promise on every robot."""
    found = []
    for seed in range(plants.COUNT):
        truth = plants.drawn(seed)
        result = plants.run(law, truth, off)
        if result.status != "completed":
            raise RuntimeError(f"{law}, robot {seed}: {result.status}: {result.message}")
        found.append(plants.verdict(law, truth, result))
    return found


def promises() -> str:
    """Return the worst error of each law beside its bound, over all robots and both starts."""
    rows = []
    for law in plants.LAWS:
        on, off = survey(law, 0.0), survey(law, plants.OFF)
        kept = sum(a.kept and b.kept for a, b in zip(on, off, strict=True))
        assumed = sum(a.assumed and b.assumed for a, b in zip(on, off, strict=True))
        rows.append(
            [
                f"`{law}`",
                f"{assumed} of {len(on)}",
                f"{kept} of {len(on)}",
                f"{max(one.surface for one in on):.3f}",
                f"{max(one.position for one in on):.3f}",
                f"{max(one.later for one in off):.3f}",
            ]
        )
    return table(
        [
            "law",
            "robots within its assumptions",
            "robots within its bound",
            "worst surface error / bound",
            "worst position error / bound",
            "the same from off the path, after 0.1 s",
        ],
        rows,
    )


def assumptions() -> str:
    """Return how much of the assumed uncertainty the worst robot used up."""
    rows = []
    for law in plants.LAWS:
        both = survey(law, 0.0) + survey(law, plants.OFF)
        lost = max(one.lost for one in both)
        left = f"{max(one.left for one in both):.2f}"
        rows.append([f"`{law}`", left, f"{lost:.2f}" if lost > 0.0 else "not assumed"])
    return table(["law", "worst uncertainty / assumed", "worst loss of grip / assumed"], rows)


@functools.cache
def helix(controller: str, case: str) -> Result:
    """Return a run of a law on the SCARA's helix."""
    card = controller.removeprefix("stiff ")
    changes = {"controller": {"use": card}, **CASES[case]}
    gains = {
        f"controller.feedback.{name}": gain
        for name, gain in zip(("alpha", "beta"), same(), strict=True)
    }
    return simulate(_base().replace(changes | (gains if card != controller else {})))


def _base() -> Scenario:
    return Scenario.load("scara-helix", {"timing.duration": 5.0})


@functools.cache
def same() -> tuple[float, float]:
    """Return `alpha` and `beta` [1/s], [1/s^2] of the two poles of a row of `AS_STIFF`.

    Those of what it remembers, at zero, do not count.
    """
    poles = linear.loop_performance(_base().replace({"controller": {"use": AS_STIFF}})).poles
    rates = np.sort([-pole.real for pole in poles if pole.real < -1.0])
    slow, fast = (float(half.mean()) for half in np.split(rates, 2))
    if (
        np.ptp(rates[: len(rates) // 2]) > 0.1 * slow
        or np.ptp(rates[len(rates) // 2 :]) > 0.1 * fast
    ):
        raise RuntimeError(f"the rows of {AS_STIFF} must be alike; their poles are {-rates}.")
    return slow + fast, slow * fast


def _errors() -> str:
    rows = []
    for case in CASES:
        rows.append([case, *(_millimetres(helix(controller, case)) for controller in COLUMNS)])
    return table(["peak error of the tool [mm]", *COLUMNS.values()], rows)


def _millimetres(run: Result) -> str:
    if run.status != "completed":
        return run.status
    peak = 1e3 * float(np.linalg.norm(run["phi"][:, :3], axis=1).max())
    if peak < 1e-3:
        return "below 0.001"
    return f"{peak:.2g}" if peak < 100.0 else f"{peak:.0f}"


def _restlessness() -> str:
    rows = []
    for case in CASES:
        rows.append([case, *(_travel(helix(controller, case)) for controller in COLUMNS)])
    return table(["travel of the inputs [N, N m per s]", *COLUMNS.values()], rows)


def _travel(run: Result) -> str:
    """Return how far the inputs moved from sample to sample, per second."""
    if run.status != "completed":
        return run.status
    moved = float(np.abs(np.diff(run["u"], axis=0)).sum()) / float(run.time[-1] - run.time[0])
    # Where a law chatters, the last bits decide about a hundredth of the travel.
    return f"{moved:.3g}" if moved < 10.0 else f"{float(f'{moved:.2g}'):.0f}"


TABLES = {
    "promises": promises,
    "assumptions": assumptions,
    "errors": _errors,
    "restlessness": _restlessness,
}
FACTS = {
    "count": lambda: f"{plants.COUNT}",
    "better": lambda: _ratio("the model is 30 % too light"),
    "better-payload": lambda: _ratio("an untold payload of 0.2 kg"),
    "same-alpha": lambda: f"{float(f'{same()[0]:.3g}'):g}",
    "same-beta": lambda: f"{float(f'{same()[1]:.3g}'):g}",
    "stiff": lambda: _times("stiff servo-baumgarte"),
    "stiff-observer": lambda: _times("stiff servo-momentum-observer"),
    "stiff-travel": lambda: _noisy_travel("stiff servo-baumgarte"),
}


def _ratio(case: str) -> str:
    """Return how much closer the worst of three robust laws keeps than the nominal one."""
    nominal = helix("servo-baumgarte", case).metric("peak_phi")
    robust = max(helix(c, case).metric("peak_phi") for c in CONTROLLERS[2:5])
    return f"{nominal / robust:.0f}"


def _times(law: str) -> str:
    """Return the error of a law with a model that is too light, in that of `AS_STIFF`."""
    case = "the model is 30 % too light"
    return f"{helix(law, case).metric('peak_phi') / helix(AS_STIFF, case).metric('peak_phi'):.2g}"


def _noisy_travel(law: str) -> str:
    """Return how far a law's inputs travel under noise, in that of `AS_STIFF`."""
    case = "the model is right, held for 1 ms, noise"
    both = [helix(one, case).metric("input_travel") for one in (law, AS_STIFF)]
    return f"{both[0] / both[1]:.1g}"
