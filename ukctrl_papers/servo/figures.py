"""The figures of the paper, from our runs: Figures 3 to 14, and what the steps give."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ukctrl.core.arrays import Vector
from ukctrl.reports.plot import style
from ukctrl_papers.claim import Drawing
from ukctrl_papers.figure_grid import figure_grid
from ukctrl_papers.servo import arms, literal_steps, newton_euler, runs
from ukctrl_papers.servo.arms import Reading

BLUE, RED, GREEN, PINK, AMBER = style.PALETTE[:5]
READING_STYLES = MappingProxyType[Reading, tuple[str, str]](
    {
        "minimum norm": (BLUE, "-"),
        "consistent": (RED, "-"),
        "stacked": (GREEN, "--"),
        "literal": (AMBER, ":"),
    }
)
"""Color and line of each reading."""


def torque_figure() -> Figure:
    """Figures 9 to 14: the torques of every reading, and the printed ranges."""
    figure, axes = figure_grid(2, 3, 5.4)
    for k, ax in enumerate(axes.flat):
        low, high = runs.PRINTED_RANGES[k]
        ax.axhspan(low, high, color=style.GRID, lw=0, label="range in the text")
        for reading, (color, line) in READING_STYLES.items():
            time, u = runs.reading_torques(reading)
            ax.plot(time, u[:, k], color=color, ls=line, label=reading)
        ax.set_title(runs.MOTOR_NAMES[k])
    for ax in axes[:, 0]:
        ax.set_ylabel("torque [N m]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=5, loc="outside upper center")
    return figure


def draw_chain(ax: Axes, theta: Vector, color: str, label: str = "", alpha: float = 1.0) -> None:
    """Draw the five links, the bar thick."""
    x = np.concatenate(([0.0], np.cumsum(np.cos(theta))))
    y = np.concatenate(([0.0], np.cumsum(np.sin(theta))))
    ax.plot(x, y, color=color, marker="o", ms=3, alpha=alpha, label=label or None)
    ax.plot(x[2:4], y[2:4], color=color, lw=3.5, solid_capstyle="round", alpha=alpha)


def draw_bases(ax: Axes) -> None:
    """Draw the two bases."""
    ax.plot([0.0, arms.BASE_DISTANCE], [0.0, 0.0], ls="", marker="^", ms=8, color=style.MUTED)
    ax.set_aspect("equal")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")


def motion_figure() -> Figure:
    """Figures 3 to 8: the arms from the start to the top, and the angles."""
    figure = Figure(figsize=(9.0, 3.3), dpi=110, facecolor="white", layout="constrained")
    left_axes, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    run = runs.arms_run("minimum norm")
    for t, alpha in zip(
        np.pi * np.array([0.0, 0.4, 0.65, 1.0]), (0.3, 0.45, 0.65, 1.0), strict=True
    ):
        k = int(np.argmin(np.abs(run.time - t)))
        draw_chain(left_axes, run["q"][k], BLUE, alpha=alpha)
    draw_bases(left_axes)
    left_axes.set_title("start to top, half a period")
    for k, color in zip((0, 1, 2, 3, 4), (BLUE, RED, style.INK, GREEN, PINK), strict=True):
        right.plot(run.time, np.degrees(run["q"][:, k]), color=color, label=f"θ{k + 1}")
    right.set_xlabel("time [s]")
    right.set_ylabel("angle [deg]")
    right.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    right.set_yticks([-90, -60, -30, 0, 30, 60, 90])
    return figure


def literal_steps_figure() -> Figure:
    """What comes of the printed steps, on an open and on a closed chain."""
    figure = Figure(figsize=(9.0, 3.1), dpi=110, facecolor="white", layout="constrained")
    shapes, errors = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    reference = arms.known_motion(literal_steps.READ_OFF_TIME).theta
    draw_chain(shapes, reference, style.FAINT, label="wanted")
    for closed, color, label in ((False, RED, "not closed"), (True, AMBER, "really closed")):
        ran = literal_steps.literal_run(closed)
        draw_chain(
            shapes, literal_steps.angles_at(ran, literal_steps.READ_OFF_TIME), color, label=label
        )
        keep = ran.time <= (0.95 if not closed else 1.2)
        theta = ran.theta[keep]
        if closed:
            height = np.sin(theta) @ [1.0, 1.0, 0.5, 0.0, 0.0]
            off = np.abs(height - 0.5 * (1.0 - np.cos(ran.time[keep])))
            errors.plot(ran.time[keep], off, color=color, label="load off its path [m]")
            turned = np.abs(theta[:, 2])
            errors.plot(ran.time[keep], turned, color=color, ls="--", label="bar turned [rad]")
        else:
            gap = np.linalg.norm([arms.closure_error(angles) for angles in theta], axis=1)
            errors.plot(ran.time[keep], gap, color=color, label="closure open [m]")
    draw_bases(shapes)
    shapes.set_title(f"after {literal_steps.READ_OFF_TIME:g} s")
    shapes.legend(loc="lower left")
    errors.set_xlabel("time [s]")
    errors.legend(loc="upper left")
    return figure


def squeeze_figure() -> Figure:
    """The bar squeezed with 20 N, and left alone."""
    figure, axes = figure_grid(1, 3, 3.0)
    forces, left_axes, right = axes[0]
    for force, color, label in ((None, BLUE, "not asked for"), (20.0, RED, "20 N")):
        run = runs.squeeze_run(force)
        forces.plot(
            run.time, newton_euler.bar_forces(run).left_force[:, 0], color=color, label=label
        )
        for k, ax in (
            (0, left_axes),
            (1, left_axes),
            (2, left_axes),
            (3, right),
            (4, right),
            (5, right),
        ):
            line = ("-", "--", ":")[k % 3]
            name = runs.MOTOR_NAMES[k] if force else None
            ax.plot(run.time, run["u"][:, k], color=color, ls=line, label=name)
    forces.set_title("force along the bar")
    forces.set_ylabel("force [N]")
    forces.set_ylim(-12.0, 32.0)
    forces.legend(loc="upper left")
    for ax, title in ((left_axes, "left arm"), (right, "right arm")):
        ax.set_title(title)
        ax.set_ylabel("torque [N m]")
        ax.legend(ncols=3, loc="upper center")
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.15 * (high - low))
    return figure


def drawings() -> Iterator[Drawing]:
    """Yield the figures."""
    for name, title, caption, make in (
        (
            "motion",
            "Figures 3 to 8: the motion",
            "Left: from start to top, the bar thick.",
            motion_figure,
        ),
        (
            "torques",
            "Figures 9 to 14: the torques",
            "Every reading of (71); shaded the range that "
            "the text gives. The consistent one was plotted.",
            torque_figure,
        ),
        (
            "word-by-word",
            "Steps 1) to 5) word by word",
            "Left: after 0.8 s, with the computed "
            "reaction as a force, and on a chain that is really closed.",
            literal_steps_figure,
        ),
        (
            "squeeze",
            "The null-space input s, used to squeeze the bar",
            "With 20 N, and with the force that the least torques happen to give.",
            squeeze_figure,
        ),
    ):
        yield Drawing(name, title, caption, style.styled(make))
