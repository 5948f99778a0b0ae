"""The figures, after Figures 2 to 10 of the paper."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ukctrl.reports.plot import style
from ukctrl.simulation.result.result import Result
from ukctrl_papers.claim import Drawing
from ukctrl_papers.figure_grid import figure_grid, plot_reference
from ukctrl_papers.scara.formulas import (
    NEAREST_START,
    START_READINGS,
    X_PRINTED,
    Y_PRINTED,
    dormand_prince,
)
from ukctrl_papers.scara.runs import DRIFT, STABILISED, run

BLUE, RED, GREEN = style.PALETTE[:3]
RUNS = ((DRIFT, "not stabilised", RED), (STABILISED, "stabilised", BLUE))


def joint_error(result: Result, k: int) -> NDArray[np.float64]:
    """Return the error of joint k [rad], or of the slide [m]."""
    return result["joint_error"][:, k] if k < 3 else result["slide_error"][:, 0]


def joint_motion() -> Figure:
    """Figures 2 and 6: the joints, and where the constraints would have them."""
    figure, axes = figure_grid(2, 2, 5.0)
    for column, (name, title, _) in enumerate(RUNS):
        result = run(name)
        for k, color in enumerate((BLUE, RED, GREEN, BLUE)):
            ax, q = axes[k // 3, column], result["q"][:, k]
            ax.plot(result.time, q, color=color, label=f"q{k + 1}")
            label = "on the constraints" if k > 1 else ""
            plot_reference(ax, result.time, q - joint_error(result, k), label)
        axes[0, column].set_title(title)
    axes[0, 0].set_ylabel("angle [rad]")
    axes[1, 0].set_ylabel("stroke [m]")
    axes[0, 1].legend(ncols=4, loc="center", bbox_to_anchor=(0.5, 0.56))
    axes[1, 1].legend(loc="upper left")
    return figure


def tool_path() -> Figure:
    """Figures 3 and 7: the tool in space."""
    figure = Figure(figsize=(9.0, 4.4), dpi=110, facecolor="white")
    for column, (name, title, color) in enumerate(RUNS):
        result = run(name)
        axes = figure.add_subplot(1, 2, column + 1, projection="3d")
        axes.plot(*result["frame_position"][:, 0].T, color=color, label="tool")
        wanted_path = result["frame_reference"][:, 0]
        axes.plot(*wanted_path.T, color=style.INK, lw=0.9, ls="--", label="path")
        axes.set_title(title, pad=0)
        axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
        axes.set_xticks([-0.05, 0.0, 0.05])
        axes.set_yticks([0.3, 0.35, 0.4])
        axes.view_init(22.0, -60.0)
        axes.set_box_aspect((1.0, 1.0, 1.5), zoom=0.9)
        axes.legend(loc="upper left")
    figure.subplots_adjust(left=0.0, right=0.95, bottom=0.04, top=0.93, wspace=0.05)
    return figure


def joint_errors() -> Figure:
    """Figures 4 and 8: the joint errors, before and after."""
    figure, axes = figure_grid(2, 2, 4.8)
    for k, ax in enumerate(axes.flat):
        for name, label, color in RUNS:
            result = run(name)
            ax.plot(result.time, joint_error(result, k), color=color, label=label)
        ax.set_title(f"q{k + 1}")
        ax.set_ylabel("error [rad]" if k < 3 else "error [m]")
    axes[0, 0].legend()
    return figure


def displacement_errors() -> Figure:
    """Figures 5 and 9: the displacement errors, before and after."""
    figure, axes = figure_grid(1, 3, 2.9)
    for k, ax in enumerate(axes[0]):
        for name, label, color in RUNS:
            result = run(name)
            ax.plot(result.time, 1e3 * result["phi"][:, k], color=color, label=label)
        ax.set_title("xyz"[k])
    axes[0, 0].set_ylabel("error [mm]")
    axes[0, 1].legend(loc="lower left")
    return figure


def torques() -> Figure:
    """Figure 10: the constraint torques of the stabilised run."""
    result = run(STABILISED)
    figure, axes = figure_grid(1, 2, 3.0)
    for k, color in enumerate((BLUE, RED, GREEN)):
        axes[0, 0].plot(result.time, result["u"][:, k], color=color, label=f"Q_c{k + 1}")
    axes[0, 0].set_ylabel("torque [N m]")
    axes[0, 0].legend(ncols=3, loc="lower right")
    axes[0, 1].plot(result.time, result["u"][:, 3], color=BLUE, label="Q_c4")
    plot_reference(axes[0, 1], result.time[[0, -1]], [0.5 * 9.81] * 2, "m4 g")
    axes[0, 1].set_ylabel("force [N]")
    axes[0, 1].legend(ncols=2)
    return figure


def coarse_integration() -> Figure:
    """What an integrator at its default tolerance makes of the drift."""
    figure, axes = figure_grid(1, 2, 3.2)
    exact, rough = run(DRIFT, NEAREST_START), run(DRIFT, NEAREST_START, True)
    times, errors = dormand_prince(START_READINGS[NEAREST_START])
    for k, (ax, printed) in enumerate(zip(axes[0], (X_PRINTED, Y_PRINTED), strict=True)):
        ax.plot(exact.time, 1e3 * exact["phi"][:, k], color=RED, label="DOP853, 1e-9")
        ax.plot(rough.time, 1e3 * rough["phi"][:, k], color=BLUE, label="RK45, 1e-3")
        ax.plot(times, 1e3 * errors[:, k], color=GREEN, label="as ode45, 1e-3")
        label = "largest printed"
        for sign in (-1.0, 1.0):
            at = 1e3 * sign * printed
            ax.axhline(at, color=style.INK, lw=0.9, ls=":", label=label if sign > 0 else None)
        ax.set_title("xy"[k])
    axes[0, 0].set_ylabel("error [mm]")
    axes[0, 1].legend(loc="lower left")
    return figure


def paper_figures() -> Iterator[Drawing]:
    """Yield every figure of the paper, and what a coarse integrator makes of its drift."""
    for name, title, caption, make in (
        ("motion", "Figures 2 and 6: joint motion", REFERENCE_CAPTION, joint_motion),
        ("path", "Figures 3 and 7: the tool", REFERENCE_CAPTION, tool_path),
        (
            "joint-errors",
            "Figures 4 and 8: joint errors",
            "To the nearest configuration on the constraints.",
            joint_errors,
        ),
        (
            "displacement-errors",
            "Figures 5 and 9: displacement errors",
            "Linear in time without stabilisation.",
            displacement_errors,
        ),
        ("torques", "Figure 10: constraint torques", "Of the stabilised motion.", torques),
        (
            "coarse",
            "Figure 5, integrated coarsely",
            "The drift from (31, -55, 24) degrees, exactly "
            "and with two integrators at a relative tolerance of 0.001.",
            coarse_integration,
        ),
    ):
        yield Drawing(name, title, caption, style.styled(make))


REFERENCE_CAPTION = "Dashed is the motion on the constraints, the paper's theoretical value."
