"""The films of the page: the commands that make them, which `figures.py` runs as they stand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ukctrl import Scenario, simulate


class Film(NamedTuple):
    """One film."""

    run: str
    """Options of `ukctrl run`, its scenario first."""
    view: str
    """Options of `ukctrl view --record`."""
    poster: float
    """Which share of the film has passed at the picture that stands for it, from 0 to 1."""


TITLE = "Panda whose fourth motor gives 22.1 N m; the task wants 22.7"
WEAK = "effect=[{kind='saturation', limit={joint4=22.1}}]"
FILMS: dict[str, Film] = {
    "weak-motor": Film(
        f'panda-pose --set title="{TITLE}" --set "{WEAK}"',
        "--show inputs --camera 60,12",
        0.3,
    ),
    "two-arms": Film("two-arms-carry", "--show reactions --camera 38,18 --speed 0.5", 0.55),
    "quadrotor": Film("quadrotor-lemniscate", "--camera 25,24 --speed 1.5", 0.2),
    "pick-and-place": Film("scara-pick-and-place", "--camera 160,24 --speed 0.7", 0.5),
    "four-bar": Film(
        "n-four-bar --set timing.duration=3.4", "--show reactions --camera 12,10 --speed 0.5", 0.35
    ),
}
"""By name."""


def commands(name: str) -> tuple[str, str]:
    """Return what makes a film: what simulates, and what draws."""
    film = FILMS[name]
    return (
        f"ukctrl run {film.run} --out out/{name}",
        f"ukctrl view out/{name} --record films-{name}.mp4 {film.view}",
    )


def shown(name: str) -> str:
    """Return the commands as the page shows them."""
    return "\n".join(["```text", *commands(name), "```"])


def wanted() -> str:
    """Return the most that the task wants of the fourth motor, in newton metres."""
    result = simulate(Scenario.load("panda-pose"))
    fourth = result.labels.actuators.index("joint4")
    return f"{np.abs(result['u'][:, fourth]).max():.1f}"


TABLES: dict[str, Callable[[], str]] = {name: functools.partial(shown, name) for name in FILMS}
FACTS: dict[str, Callable[[], str]] = {"wanted": wanted}
