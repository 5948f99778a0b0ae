"""The figures of the page."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ukctrl import papers, plot

figures = papers.review.figures
runs = papers.review.runs

BLUE, RED, GREEN, *_ = plot.style.PALETTE


def axes_of(*titles: str) -> tuple[Figure, np.ndarray]:
    """Return a figure with a row of axes."""
    figure = Figure(figsize=(9.0, 2.9), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots(1, len(titles), squeeze=False)[0]
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title)
        ax.set_xlabel("time [s]")
    return figure, axes


@plot.style.styled
def through_springs() -> Figure:
    """Draw links, motors and torques of the real thing."""
    links, motors = runs.run("flexible-joint-arm-links"), runs.run("flexible-joint-arm-motor")
    t = motors.time
    figure, (rates, angles, torques) = axes_of(
        "rates of the links [rad/s]", "angles [rad]", "torques of the motors [N m]"
    )
    for k, (color, label) in enumerate(((BLUE, "link 1"), (RED, "link 2"))):
        rates.plot(t, motors["v"][:, k], color=color, label=label)
        rates.plot(
            t, links["v"][:, k], color=plot.style.INK, lw=0.9, ls="--",
            label="law on the links" if k else None,
        )  # fmt: skip
        angles.plot(t, motors["q"][:, k], color=color, label=label)
        angles.plot(t, motors["q"][:, 2 + k], color=color, ls="-.", label=f"motor {k + 1}")
        torques.plot(t, motors["u"][:, k], color=color, label=f"u{k + 1}")
    rates.set_ylim(-0.9, 1.9)
    for ax, where in ((rates, "upper right"), (angles, "lower right"), (torques, "lower right")):
        ax.legend(loc=where)
    return figure


@plot.style.styled
def start() -> Figure:
    """Draw how far the links are from the plan, by where the motors start and by the stiffness."""
    figure, (error,) = axes_of("largest distance of a link from the plan [rad]")
    relaxed = (("start.q.q2_motor", 0.0), ("start.q.q4_motor", 0.0))
    relaxed += (("start.v.q2_motor", 1.0), ("start.v.q4_motor", -0.1), ("timing.duration", 20.0))
    stiff = (
        ("robot.elastic.stiffness.q2", 40.0),
        ("robot.elastic.stiffness.q4", 40.0),
        ("controller.alpha", 8.0),
        ("controller.beta", 20.0),
    )
    for color, label, changes in (
        (RED, "springs relaxed, K = 1 N m/rad", relaxed),
        (GREEN, "springs relaxed, K = 40 N m/rad", (*relaxed, *stiff)),
        (BLUE, "motors where the motion wants them, K = 1 N m/rad", relaxed[-1:]),
    ):
        result = runs.run("flexible-joint-arm-motor", *changes)
        error.semilogy(
            result.time,
            np.abs(result["link_error"]).max(axis=1).clip(1e-16),
            color=color,
            label=label,
        )
    error.set_ylim(1e-13, 10.0)
    error.legend(loc="center left", bbox_to_anchor=(0.05, 0.45))
    return figure


FIGURES = {
    "flexible-joint-arm-links": figures.arm_rates,
    "flexible-joint-arm-motor": through_springs,
    "flexible-joint-arm-start": start,
}


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for name, make in FIGURES.items():
        make().savefig(folder / f"{name}.png", metadata={"Software": None})
