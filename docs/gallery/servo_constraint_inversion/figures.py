"""The figures of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from experiments import (
    PLAIN,
    STEPS,
    TIMES,
    at,
    car,
    convergence,
    independent,
    mismatched,
    nominal,
    planned,
)
from matplotlib.figure import Figure

from ukctrl import Scenario, plot, simulate

BLUE, RED, GREEN = plot.style.PALETTE[:3]


def _figure(count: int, height: float = 3.1) -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(9.0, height), dpi=110, facecolor="white", layout="constrained")
    return figure, figure.subplots(1, count, squeeze=False)[0]


@plot.style.styled
def rail() -> Figure:
    """Draw the mass on the car for several angles of its rail."""
    figure, (spring, force, grip) = _figure(3)
    t = np.linspace(0.0, 3.0, 301)
    for color, degrees in zip(plot.style.PALETTE, (0.0, 10.0, 30.0, 60.0), strict=False):
        q, _, u = at(nominal(car(degrees)), t)
        spring.plot(t, q[:, 1], color=color, label=f"{degrees:.0f}°")
        force.plot(t, u[:, 0], color=color)
    spring.set_title("mass along the rail, s [m]")
    force.set_title("force on the car, F [N]")
    for ax in (spring, force):
        ax.set_xlabel("time [s]")
    spring.legend(loc="upper right")
    angle = np.linspace(-60.0, 60.0, 241)
    sine = np.sin(np.radians(angle)) ** 2
    grip.plot(angle, sine / (1.0 + sine), color=BLUE)
    grip.plot(0.0, 0.0, "o", color=RED, ms=4)
    grip.annotate(
        "no grip:\nrelative degree 3, or 4\nwithout damper",
        (0.0, 0.0),
        (0.0, 0.31),
        color=RED,
        ha="center",
    )
    grip.set_title("H = m2 sin²α / det M [1/kg]")
    grip.set_xlabel("angle of the rail [°]")
    return figure


@plot.style.styled
def tip() -> Figure:
    """Draw the arm whose tip must be prepared for."""
    figure, (early, spring, torque) = _figure(3)
    name = "elastic-arm-tip"
    t = TIMES[name]
    q, _, u = planned(name)
    by_hand = independent(name)
    before = t <= 0.3
    early.semilogy(t[before], np.abs(u[before, 0]), color=BLUE)
    early.semilogy(
        t[before][::6], np.abs(by_hand[2][before, 0])[::6], "o", ms=3.5, color=RED, mfc="none"
    )
    early.set_title("torque before the tip moves [N m]")
    early.set_ylim(1e-8, 10.0)
    spring.plot(t, q[:, 1], color=BLUE, label="stable_inversion")
    spring.plot(t[::12], by_hand[0][::12, 1], "o", ms=3.5, color=RED, mfc="none", label="by hand")
    run = simulate(Scenario.load(name).replace(PLAIN))
    spring.plot(run.time, run["q"][:, 1], color=plot.style.MUTED, ls=":", label="plain law")
    spring.set_ylim(-0.2, 0.2)
    spring.set_title("elastic joint [rad]")
    spring.legend(loc="upper right")
    torque.plot(t, u[:, 0], color=BLUE)
    torque.plot(t[::12], by_hand[2][::12, 0], "o", ms=3.5, color=RED, mfc="none")
    torque.set_title("torque [N m]")
    for ax in (early, spring, torque):
        ax.axvspan(-0.8, 0.0, color=plot.style.PALETTE[3], alpha=0.15, lw=0.0)
        ax.set_xlim(-0.8, 0.3 if ax is early else 3.2)
        ax.set_xlabel("time [s]; the path moves from 0 to 2")
    return figure


@plot.style.styled
def forearm() -> Figure:
    """Draw the arm with an elastic forearm."""
    figure, (line, spring, torques) = _figure(3)
    name = "elastic-two-link"
    t = TIMES[name]
    q, _, u = planned(name)
    for when in (-0.1, 0.25, 0.5, 0.75, 1.1):
        k = int(np.argmin(np.abs(t - when)))
        theta = np.cumsum(q[k])
        lengths = np.array([1.0, 0.5, 0.5])
        x = np.append(0.0, np.cumsum(lengths * np.cos(theta)))
        y = np.append(0.0, np.cumsum(lengths * np.sin(theta)))
        line.plot(x, y, "o-", ms=2.5, color=plot.style.MUTED, lw=1.0)
    line.plot([1.2, 1.2], [-0.4, 0.4], color=BLUE, lw=2.0)
    line.set_aspect("equal")
    line.set_title("arm, and the tip's path [m]")
    spring.plot(t, 1e3 * q[:, 2], color=BLUE)
    spring.set_title("elastic joint [mrad]")
    for column, (color, label) in enumerate(((BLUE, "shoulder"), (RED, "elbow"))):
        torques.plot(t, u[:, column], color=color, label=label)
    torques.set_title("torques [N m]")
    torques.legend(loc="upper right")
    for ax in (spring, torques):
        ax.set_xlim(-0.3, 1.4)
        ax.set_xlabel("time [s]; the path moves from 0 to 1")
    return figure


@plot.style.styled
def steps() -> Figure:
    """Draw errors over the step."""
    figure, axes = _figure(2)
    titles = ("spring on a rail of 30° [m]", "force on a level rail, no damper [N]")
    for ax, title, which in zip(axes, titles, (0, 1), strict=True):
        for color, stages in zip(plot.style.PALETTE, (1, 2, 3, 4, 5), strict=False):
            errors = convergence(stages)[which]
            ax.loglog(STEPS, errors, "o-", ms=3.5, color=color, label=f"{stages}")
        ax.set_title(f"error of the {title}")
        ax.set_xlabel("step [s]")
        ax.set_xticks(STEPS, [f"{step:g}" for step in STEPS])
        ax.minorticks_off()
    axes[1].legend(title="stages", loc="lower right", ncols=2)
    return figure


@plot.style.styled
def mismatch() -> Figure:
    """Draw the tip's error under feed-forward alone and with LQR."""
    figure, (error, torque) = _figure(2)
    for color, (law, label) in zip(
        (RED, BLUE),
        (("feedforward", "feed-forward alone"), ("tvlqr", "with LQR about the motion")),
        strict=True,
    ):
        run = mismatched(law, 0.95)
        error.plot(run.time, 1e3 * run["phi"][:, 0], color=color, label=label)
        torque.plot(run.time, run["u"][:, 0], color=color)
    error.set_title("error of the tip, masses believed 5 % too light [mm]")
    torque.set_title("torque [N m]")
    error.legend(loc="lower left")
    for ax in (error, torque):
        ax.set_xlabel("time [s]")
    return figure


def draw(folder: Path) -> None:
    """Write the figures as PNG files."""
    made = {"rail": rail, "tip": tip, "forearm": forearm, "steps": steps, "mismatch": mismatch}
    for name, make in made.items():
        target = folder / f"servo-constraint-inversion-{name}.png"
        make().savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
        print(f"{target.name:48s}{target.stat().st_size / 1000:4.0f} kB")
