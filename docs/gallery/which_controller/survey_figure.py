"""The fronts of all laws: error against travel of the inputs, every robot in every trouble."""

from __future__ import annotations

from matplotlib.figure import Figure
from outcomes import cases
from survey_tables import MM
from trials import (
    CHANGED,
    ELASTIC,
    INTEGRAL,
    LEARNING,
    PREDICTING,
    ROBOTS,
    TROUBLES,
    TWO_POLES,
)

from ukctrl import plot

FAMILIES = {
    "two poles a row": (*TWO_POLES, *PREDICTING),
    "an integral or an observer": tuple(law for law in INTEGRAL if law != "time-delay"),
    "time-delay": ("time-delay",),
    "sliding, robust": ("servo-sliding", "servo-chen-robust"),
    "adaptive": (*LEARNING, "servo-adaptive-robust"),
    "for elastic joints": ELASTIC,
    "for elastic joints, with an integral": tuple(CHANGED),
}
COLORS = dict(zip(FAMILIES, plot.style.PALETTE, strict=False))
FAMILY = {law: name for name, laws in FAMILIES.items() for law in laws}


@plot.style.styled
def fronts() -> Figure:
    """Draw a line a law, coloured by what kind of law it is."""
    figure = Figure(figsize=(15.0, 9.6), dpi=100, facecolor="white", layout="constrained")
    axes = figure.subplots(len(ROBOTS), len(TROUBLES), squeeze=False, sharex="row", sharey="row")
    shown = {}
    for row, (robot, about) in zip(axes, ROBOTS.items(), strict=True):
        for ax, trouble in zip(row, TROUBLES, strict=True):
            case = cases().get((robot, trouble))
            if case is None:
                continue
            for law, found in case.fronts.laws.items():
                means = [point.means for point in found.front]
                color, plain = COLORS[FAMILY[law]], law == "servo-baumgarte"
                (line,) = ax.loglog(
                    [travel for _, travel in means], [MM * error for error, _ in means],
                    "o-" if plain else ".-", ms=3.0, lw=1.8 if plain else 0.8, color=color,
                    label=FAMILY[law], zorder=3 if plain else 2,
                )  # fmt: skip
                shown.setdefault(FAMILY[law], line)
            if robot == next(iter(ROBOTS)):
                ax.set_title(trouble)
            if robot == [*ROBOTS][-1]:
                ax.set_xlabel("travel [N m/s]")
        row[0].set_ylabel(f"{about.title}\nrms [mm, mrad]")
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=len(shown))
    return figure
