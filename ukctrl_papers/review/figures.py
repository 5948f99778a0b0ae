"""Figures 2 to 5, 7, 8, 10 and 11 of the review, and the flight of Example 1."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ukctrl.reports.plot import style
from ukctrl_papers.claim import Drawing
from ukctrl_papers.figure_grid import figure_grid, plot_reference, power_of_ten_ticks
from ukctrl_papers.review.flexible import FlexibleJointArm, link_motion, motor_motion
from ukctrl_papers.review.particle import (
    OFF_START,
    constraint_forces,
    error_norms,
    polar_to_cartesian,
    spiral_run,
)
from ukctrl_papers.review.runs import run
from ukctrl_papers.review.swarm import PENTAGON_RADIUS, SMALL_ERROR

BLUE, RED, *_ = style.PALETTE


@style.styled
def spiral_motion() -> Figure:
    """Draw r over theta, and both over time."""
    result = run("log-spiral-particle-polar")
    t, (r, theta) = result.time, result["q"].T
    exact = spiral_run(t)
    figure, ((one, two, three),) = figure_grid(1, 3, 2.9, "r over theta", "r", "theta")
    one.plot(theta, r, color=BLUE, label="simulated")
    plot_reference(one, exact[:, 1], exact[:, 0], "exp(theta/10)")
    one.set(xlabel="theta [rad]", ylabel="r [m]")
    two.plot(t, r, color=BLUE)
    plot_reference(two, t, exact[:, 0])
    two.axvline(20.0, color=style.MUTED, lw=0.8, ls=":")
    two.text(20.5, 8.0, f"{np.exp(1.0):.2f} m at 20 s", color=style.MUTED)
    two.set(ylabel="r [m]", ylim=(0.0, None))
    three.plot(t, theta, color=BLUE)
    plot_reference(three, t, exact[:, 1])
    three.set_ylabel("theta [rad]")
    one.legend()
    return figure


@style.styled
def spiral_trajectory() -> Figure:
    """Draw the particle in the plane, and the force that keeps it there."""
    result = run("log-spiral-particle")
    x, y = result["q"].T
    polar = run("log-spiral-particle-polar")
    t, r = polar.time, polar["q"][:, 0]
    figure, ((plane, force),) = figure_grid(1, 2, 3.9, "path", "constraint force")
    plane.plot(x, y, color=BLUE)
    plane.plot(x[0], y[0], "o", color=RED, ms=5)
    plane.text(x[0] + 0.8, y[0] - 0.4, "G, the start", color=RED)
    plane.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    run_force = polar["u"] / np.column_stack((np.ones_like(r), r**2))
    exact = constraint_forces(t)
    for k, (color, label) in enumerate(((BLUE, "F_r [N]"), (RED, "F_theta [rad/s²]"))):
        force.plot(t, run_force[:, k], color=color, label=label)
        plot_reference(force, t, exact[:, k], "closed form" if k else "")
    force.set_ylabel("force per unit mass")
    force.legend()
    return figure


@style.styled
def spiral_errors() -> Figure:
    """Draw the errors (58) and (59), from the exact start and from one that is off."""
    titles = ("consistent start: rounding", "start off the spiral: linear")
    figure, (axes,) = figure_grid(1, 2, 2.9, *titles)
    for ax, result in zip(
        axes,
        (run("log-spiral-particle-polar"), run("log-spiral-particle-polar", *OFF_START)),
        strict=True,
    ):
        for error, color, label in zip(error_norms(result), (BLUE, RED), ("1", "2"), strict=True):
            ax.plot(result.time, error, color=color, label=f"epsilon {label}")
        ax.ticklabel_format(axis="y", scilimits=(-2, 2))
    axes[0].set_ylabel("error")
    axes[1].legend()
    return figure


@style.styled
def projectile_flight() -> Figure:
    """Draw the flight in both coordinates."""
    flight, polar = run("projectile"), run("projectile-polar")
    figure, ((plane, over_time),) = figure_grid(1, 2, 3.2, "path", "polar coordinates")
    plane.plot(*flight["q"].T, color=BLUE, label="Cartesian")
    plane.plot(*polar_to_cartesian(polar["q"]).T, color=RED, ls="--", label="polar")
    plane.set(xlabel="x [m]", ylabel="y [m]")
    over_time.plot(polar.time, polar["q"][:, 0], color=BLUE, label="r [m]")
    over_time.plot(polar.time, polar["q"][:, 1], color=RED, label="theta [rad]")
    x, y = flight["q"].T
    plot_reference(over_time, flight.time, np.hypot(x, y))
    plot_reference(over_time, flight.time, np.arctan2(y, x), "from x and y")
    plane.legend()
    over_time.legend()
    return figure


@style.styled
def swarm_trajectories() -> Figure:
    """Draw the paths of five robots without and with decay, and where they gather."""
    titles = ("the printed law", "with decay", "with decay, around the centre")
    figure, (axes,) = figure_grid(1, 3, 3.3, *titles)
    for ax, name, middle in zip(
        axes, ("swarm", "swarm-decay", "swarm-decay"), (False, False, True), strict=True
    ):
        x = run(name)["q"].reshape(-1, 5, 2)
        if middle:
            x = x - x.mean(axis=1, keepdims=True)
        for robot in range(5):
            color = style.PALETTE[robot]
            ax.plot(x[:, robot, 0], x[:, robot, 1], color=color, lw=1.0)
            ax.plot(*x[0, robot], "o", color=color, ms=4)
            ax.plot(*x[-1, robot], "s", color=color, ms=3.5)
        ax.set(xlabel="x [m]", aspect="equal", adjustable="datalim")
    turn = np.linspace(0.0, 2.0 * np.pi, 100)
    axes[2].plot(
        PENTAGON_RADIUS * np.cos(turn),
        PENTAGON_RADIUS * np.sin(turn),
        color=style.INK,
        lw=0.8,
        ls=":",
    )
    axes[2].set(xlim=(-0.55, 0.55), ylim=(-0.5, 0.5), adjustable="box")
    axes[0].set_ylabel("y [m]")
    return figure


@style.styled
def swarm_error() -> Figure:
    """Draw the size of the velocity error over time."""
    figure, ((ax,),) = figure_grid(1, 1, 2.9, "size of the velocity error")
    for name, color, label in (
        ("swarm", RED, "the printed law: constant"),
        ("swarm-decay", BLUE, "with the term -3 beta"),
    ):
        result = run(name)
        ax.semilogy(result.time, np.linalg.norm(result["beta"], axis=1), color=color, label=label)
    ax.axhline(SMALL_ERROR, color=style.MUTED, lw=0.9, ls=":", label="0.01, the paper's claim")
    ax.set(ylabel="|beta| [m/s]", ylim=(1e-6, 1e3), xlim=(0.0, 6.0))
    power_of_ten_ticks(ax)
    ax.legend()
    return figure


@style.styled
def arm_rates() -> Figure:
    """Draw the error and the rates of the links: as a force on the links, and as motor torque."""
    titles = ("force on the links: beta", "force on the links: rates", "torque of the motors: beta")
    figure, ((error, rates, fails),) = figure_grid(1, 3, 2.9, *titles)
    result = run("flexible-joint-arm-links")
    t = result.time
    error.plot(t, result["beta"][:, 0], color=BLUE, label="P = 0.4 s")
    plot_reference(error, t, 0.9 * np.exp(-t / 0.4), "0.9 exp(-t/P)")
    arrays = link_motion(FlexibleJointArm(), t)
    for k, (color, label) in enumerate(((BLUE, "link 1"), (RED, "link 2"))):
        rates.plot(t, result["v"][:, k], color=color, label=label)
        plot_reference(rates, t, arrays[:, 2 + k], "on plain arrays" if k else "")
    rates.set_ylim(-1.1, 1.7)
    fails.plot(
        t,
        motor_motion(FlexibleJointArm(), t, 0.2)[:, 4:6].sum(axis=1),
        color=RED,
        label="P = 0.2 s",
    )
    for ax in (error, rates, fails):
        ax.legend()
    error.set_ylabel("rate [rad/s]")
    return figure


def drawings() -> list[Drawing]:
    """Return the figures of the paper."""
    return [
        Drawing("spiral", "Figures 2 and 3: the spiral", "Dashed: closed form.", spiral_motion),
        Drawing("path", "Figure 4: the particle's path", "Right: its force.", spiral_trajectory),
        Drawing("errors", "Figure 5: errors", "Rounding, or a straight line.", spiral_errors),
        Drawing("swarm", "Figure 7: five robots", "Squares: after 10 s.", swarm_trajectories),
        Drawing("beta", "Figure 8: the velocity error", "Logarithmic.", swarm_error),
        Drawing("arm", "Figures 10 and 11: the flexible-joint arm", "Links, motors.", arm_rates),
    ]
