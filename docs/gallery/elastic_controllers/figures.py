"""The figures of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from experiments import LAWS, MILLIMETRES, SOFT, apart, panda_run
from matplotlib.figure import Figure
from one_joint import J, K, M, longest

from ukctrl import control, plot

COLORS = dict(zip(LAWS, plot.style.PALETTE, strict=False))
FEEDBACK = control.Baumgarte(alpha=20.0, beta=100.0)


def _figure(count: int) -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(9.0, 3.2), dpi=110, facecolor="white", layout="constrained")
    return figure, figure.subplots(1, count, squeeze=False)[0]


@plot.style.styled
def arm() -> Figure:
    """Draw the tool's error over time, and the motors' where it comes from."""
    figure, (tool, motors) = _figure(2)
    for law in LAWS:
        run = panda_run(law)
        error = MILLIMETRES * np.linalg.norm(run["phi"][:, :3], axis=1)
        tool.semilogy(run.time, error.clip(1e-4), color=COLORS[law], label=law)
        if law != "tracking":
            gap = np.abs(run["wanted_torque"] - run["spring_torque"]).max(axis=1)
            motors.semilogy(run.time, gap.clip(1e-6), color=COLORS[law])
    tool.set_title("distance of the tool from its path [mm]")
    motors.set_title("springs: worst torque error [N m]")
    for ax in (tool, motors):
        ax.set_xlabel("time [s]")
    tool.legend(loc="lower left", ncols=2)
    tool.set_ylim(bottom=2e-3)
    return figure


@plot.style.styled
def order() -> Figure:
    """Draw how the links come to the rigid motion."""
    figure, (ax,) = _figure(1)
    stiffness = np.array([10.0, 1e2, 1e3, 1e4, 1e5])
    for law in SOFT:
        error = [apart(law, float(value)) for value in stiffness]
        ax.loglog(stiffness, error, "o-", ms=3.5, color=COLORS[law], label=law)
    for power, start in ((1.0, 1.5e-3), (0.5, 3e-2)):
        guide = start * (stiffness[2:] / 1e3) ** -power
        ax.loglog(stiffness[2:], guide, ls=":", color=plot.style.MUTED)
        text = "1/K" if power == 1.0 else "1/√K"
        ax.annotate(text, (1.2 * stiffness[-1], guide[-1]), va="center")
    ax.set_xlabel("stiffness K [N m/rad]")
    ax.set_title("links from the rigid motion [rad]")
    ax.legend(loc="center left", bbox_to_anchor=(1.02, 0.4))
    return figure


@plot.style.styled
def stability() -> Figure:
    """Draw the longest stable control period of one joint over the poles of its inner loop."""
    figure, (poles_ax, zeta_ax) = _figure(2)
    poles = np.geomspace(20.0, 1500.0, 24)
    for law, kind in (
        ("cascade", control.ElasticCascade),
        ("linearisation", control.ElasticLinearisation),
    ):
        found = [longest(kind(feedback=FEEDBACK, alpha=2.0 * w, beta=w**2)) for w in poles.tolist()]
        poles_ax.loglog(poles, 1e3 * np.array(found), color=COLORS[law], label=law)
    mode = np.sqrt(K * (1.0 / M + 1.0 / J))
    poles_ax.axhline(
        1e3 * np.pi / mode, color=plot.style.MUTED, ls=":", label="half an oscillation"
    )
    poles_ax.loglog(poles, 1e3 / poles, color=plot.style.MUTED, ls="--", label="1 / pole")
    poles_ax.set_ylim(0.4, 30.0)
    poles_ax.set_xlabel("double pole of the inner loop [1/s]")
    zetas = np.linspace(0.05, 2.0, 24)
    for law, order_ in (("singular perturbation", 0), ("integral manifold", 1)):
        found = [
            longest(control.ElasticSingularPerturbation(feedback=FEEDBACK, zeta=z, order=order_))
            for z in zetas.tolist()
        ]
        ls = "--" if order_ else "-"
        zeta_ax.plot(zetas, 1e3 * np.array(found), color=COLORS[law], label=law, ls=ls)
    zeta_ax.set_xlabel("damping ratio of the springs")
    zeta_ax.set_ylim(bottom=0.0)
    for ax in (poles_ax, zeta_ax):
        ax.set_title("longest stable control period [ms]")
        ax.legend()
    return figure


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for name, make in (("arm", arm), ("order", order), ("stability", stability)):
        make().savefig(folder / f"elastic-controllers-{name}.png", metadata={"Software": None})
