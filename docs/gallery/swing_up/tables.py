"""The tables of the page."""

from __future__ import annotations

import numpy as np
import study
from markdown_text import below, minus, table

SLOW = True
LAST, ENERGY = 1e-6, 1e-7
"""What LQR has not yet brought back at the end, of some rad; and energy that integration to a
relative 1e-9 has lost by then, part of what moved."""
ROBOTS = {"cart-pole": "cart and pole", "acrobot": "Acrobot", "pendubot": "Pendubot"}
ROBOTS["furuta"] = "Furuta pendulum"


def runs() -> str:
    """Return what came of every swing-up."""
    rows = []
    for name in study.NAMES:
        for held in (False, True):
            run = study.run(name, held)
            law = study.balance(name).scenario.controller.modes[0].law
            rows.append(
                [
                    ROBOTS[name],
                    "1 kHz hold" if held else "continuous",
                    f"{law.alpha:g}, {law.beta:g}, {law.margin:g}",
                    f"{run.switches[0]:.3f}",
                    f"{run.metric('settling_time'):.2f}",
                    f"{run.metric('peak_u'):.3g} {run.labels.actuator_units[0]}",
                    below(float(np.abs(run["phi"][-1]).max()), LAST),
                    below(run.metric("energy_drift") / float(np.ptp(run["energy"])), ENERGY),
                ]
            )
    head = ["robot", "input", "alpha, beta, margin", "caught [s]", "settled [s]", "peak input"]
    return table([*head, "last error [rad, m]", "energy not accounted for"], rows)


def starts() -> str:
    """Return how often drawn starts end upright."""
    rows = []
    for name in study.NAMES:
        found = study.drawn(name)
        times = sorted(run.switches[-1] if run.switches else np.inf for run in found)
        rows.append(
            [
                ROBOTS[name],
                f"{sum(map(study.upright, found))} of {len(found)}",
                str(sum(len(run.switches) == 1 for run in found)),
                f"{np.median(times):.2f}",
                f"{times[-1]:.2f}",
            ]
        )
    head = ["robot", "upright at the end", "caught at once", "caught: median [s]", "last [s]"]
    return table(head, rows)


def gains() -> str:
    """Return how often drawn starts end upright with other gains."""
    rows = []
    for name in study.NAMES:
        row = [ROBOTS[name], str(sum(map(study.upright, study.drawn(name))))]
        for gain in ("alpha", "beta"):
            for factor in (0.75, 1.25):
                row.append(str(sum(map(study.upright, study.drawn(name, gain, factor)))))
        rows.append(row)
    others = [f"{gain} x {factor}" for gain in ("alpha", "beta") for factor in (0.75, 1.25)]
    return table(["upright, of 20", "as they are", *others], rows)


def regions() -> str:
    """Return how far LQR catches, beside where the scenario switches."""
    rows = []
    for name in study.NAMES:
        case = study.balance(name)
        rows.append(
            [
                ROBOTS[name],
                f"{study.largest(name, by_runs=False):.3g}",
                f"{study.largest(name, by_runs=True):.3g}",
                f"{case.enter:g}",
                f"{study.returning(name, case.enter):.0%}",
                f"{case.leave:g}",
            ]
        )
    head = ["robot", "x'Sx falls everywhere up to", "every run returns up to", "enter"]
    return table([*head, "of its states return", "leave"], rows)


def rows_alone() -> str:
    """Return what the energy row does without the rest of the swing-up."""
    rows = []
    for rate, allocation in ((0.0, "least_norm"), (0.5, "least_norm"), (0.5, "damped")):
        run = study.row(rate, allocation)
        if not len(run.time):
            rows.append([f"{rate:g}", allocation, run.status, "0", "", "", ""])
            continue
        rows.append(
            [
                f"{rate:g}",
                allocation,
                run.status,
                f"{run.time[-1]:.2f}",
                minus(f"{run['beta'][-1, 0]:.2g}"),
                f"{np.abs(run['u']).max():.0f}",
                f"{np.abs(run['q'][:, 0]).max():.1f}",
            ]
        )
    head = ["pole's rate at the start [rad/s]", "allocation", "status", "reached [s]"]
    return table([*head, "E - E_d there [J]", "peak force [N]", "cart's way [m]"], rows)


def named() -> str:
    """Return what a run of the energy row from rest says."""
    return study.row(0.0, "least_norm").message.split(").")[0] + ")."


TABLES = {
    "runs": runs,
    "starts": starts,
    "gains": gains,
    "regions": regions,
    "rows-alone": rows_alone,
}
FACTS = {"at-rest": named}
