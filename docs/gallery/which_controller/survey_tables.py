"""Tables and numbers of the survey: every robot in every trouble."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markdown_text import table
from outcomes import Case, cases
from survey import ABOUT
from survey_store import PHASES, load
from trials import ROBOTS, SPEEDS, TROUBLES

MM = 1e3
PLAIN = "servo-baumgarte"
RIGID = ("scara", "ur5", "panda", "three-rrr")


def of_robot(robot: str) -> dict[str, Case]:
    """Return the cases of a robot, by trouble."""
    return {trouble: case for (name, trouble), case in cases().items() if name == robot}


def laws_of(robots: Sequence[str]) -> list[str]:
    """Return every law that some of these robots has, in order."""
    return list(dict.fromkeys(law for robot in robots for law in ROBOTS[robot].laws))


def digits(value: float) -> str:
    """Return two digits."""
    return f"{value:.0f}" if abs(value) >= 10.0 else f"{value:.2g}"


def cell(case: Case, law: str) -> str:
    """Return the error of a law: bold where none is better, with a mark at the end of a range."""
    if law in case.refused:
        return "refused"
    judged = case.laws[law]
    if not judged.completed:
        done, count = judged.share
        return f"{done} of {count}" if count else "never"
    text = digits(MM * judged.error) + ("†" if judged.border else "")
    return f"**{text}**" if law in case.best else text


def errors(robot: str) -> Callable[[], str]:
    """Return the table of a robot: laws against troubles."""

    def made() -> str:
        every = of_robot(robot)
        body = [
            [f"`{law}`", *(cell(case, law) for case in every.values())]
            for law in ROBOTS[robot].laws
        ]
        body.append(["bandwidths of the best [rad/s]", *map(_bandwidths, every.values())])
        return table([f"{ROBOTS[robot].title}: rms [mm, mrad]", *every], body)

    return made


def _bandwidths(case: Case) -> str:
    if not case.ranked:
        return ""
    chosen = [case.laws[law].bandwidth for law in case.best or [case.ranked[0].law]]
    low, high = min(chosen), max(chosen)
    return digits(low) if low == high else f"{digits(low)} to {digits(high)}"


class Beside(NamedTuple):
    """A law beside the plain one, at equal travel of the inputs, over robots and troubles."""

    less: int
    """Cases in which it has less error somewhere, and nowhere more."""
    more: int
    """Cases in which it has more error somewhere, and nowhere less."""
    both: int
    """Cases in which one is better here and the other there."""
    cases: int
    """Cases in which both have a front."""
    least: float
    """The largest factor by which its error is less; 1 where it is not."""
    most: float
    """The largest factor by which its error is more."""

    @property
    def alike(self) -> int:
        """Cases in which no test tells them apart."""
        return self.cases - self.less - self.more - self.both


def beside(law: str, plain: str, robots: Sequence[str] = tuple(ROBOTS)) -> Beside:
    """Return how a law stands beside another at equal travel."""
    counts = dict.fromkeys(("less", "more", "both", "none"), 0)
    least = most = 1.0
    for robot in robots:
        for case in of_robot(robot).values():
            fronts = case.fronts.laws
            if not all(name in fronts and fronts[name].front for name in (law, plain)):
                continue
            wins, loses = case.beats.get((law, plain)), case.beats.get((plain, law))
            kind = "both" if wins and loses else "less" if wins else "more" if loses else "none"
            counts[kind] += 1
            least = max(least, wins[1] if wins else 1.0)
            most = max(most, loses[1] if loses else 1.0)
    total = sum(counts.values())
    return Beside(counts["less"], counts["more"], counts["both"], total, least, most)


def against_plain() -> str:
    """Return every law beside the plain one at equal travel, on the robots without springs."""
    body = []
    for law in laws_of(RIGID):
        if law == PLAIN:
            continue
        found = beside(law, PLAIN, RIGID)
        if not found.cases:
            continue
        body.append(
            [
                f"`{law}`",
                str(found.cases),
                _counted(found.less, found.least),
                _counted(found.more, found.most),
                str(found.both),
                str(found.alike),
            ]
        )
    heads = ("cases", "less error", "more error", "less here, more there", "not distinguishable")
    return table([f"beside `{PLAIN}`, at equal travel", *heads], body)


def _counted(count: int, factor: float) -> str:
    return f"{count}, up to {times(factor)}" if count else "0"


def up_to(count: int, factor: float) -> str:
    """Return by how much at most, where there is anything to say."""
    return f" (by at most {times(factor)})" if count else ""


def times(factor: float) -> str:
    """Return a factor, as a part of a hundred where it is small."""
    return f"{digits(factor)} times" if factor >= 1.2 else f"{digits(100.0 * (factor - 1.0))} %"


def standing() -> str:
    """Return in how many troubles of each robot a law is not beaten."""
    body = []
    for law in laws_of(tuple(ROBOTS)):
        cells = [f"`{law}`"]
        for robot in ROBOTS:
            every = of_robot(robot).values()
            if law not in ROBOTS[robot].laws:
                cells.append("")
                continue
            ahead, best = sum(law in c.ahead for c in every), sum(law in c.best for c in every)
            cells.append(f"{ahead} · {best}")
        body.append(cells)
    return table(["law", *(robot.title for robot in ROBOTS.values())], body)


NEAR = 0.02
"""Laws whose mean errors and travels agree to this, at every bandwidth, are told to be near."""


def disguise() -> list[tuple[str, tuple[str, ...]]]:
    """Return for each robot the laws that were near in every trouble, however quick."""
    found = []
    for robot, about_it in ROBOTS.items():
        groups: list[list[str]] = []
        for law in about_it.laws:
            group = next((g for g in groups if all(_near(robot, law, other) for other in g)), None)
            if group is None:
                groups.append([law])
            else:
                group.append(law)
        found += [(robot, tuple(group)) for group in groups if len(group) > 1]
    return found


def _near(robot: str, one: str, other: str) -> bool:
    """Return whether two laws agree wherever both completed, which they must do alike."""
    compared = 0
    for case in of_robot(robot).values():
        if any(law in case.refused for law in (one, other)):
            return False
        both = (case.fronts.laws[law].points for law in (one, other))
        for a, b in zip(*both, strict=True):
            if a.completed != b.completed:
                return False
            if a.completed:
                compared += 1
                ratios = np.log(np.array(a.means) / np.array(b.means))
                if np.abs(ratios).max() > NEAR:
                    return False
    return compared > 0


def disguised() -> str:
    """Return them as a table."""
    rows = [
        [ROBOTS[robot].title, ", ".join(f"`{law}`" for law in group)] for robot, group in disguise()
    ]
    return table(["robot", "laws that are one for all that was measured"], rows)


def robots() -> str:
    """Return what the robots are asked, and the sizes of their troubles."""
    body = [
        [
            robot.title,
            f"`{robot.scenario}`",
            str(len(robot.laws)),
            f"{robot.bandwidth[0]:g} to {robot.bandwidth[1]:g}",
            " / ".join(f"{mass:g}" for mass in robot.carries),
            f"{np.linalg.norm(robot.force):g}",
            _span(robot.friction),
            f"{robot.price:g}",
        ]
        for robot in ROBOTS.values()
    ]
    heads = (
        "scenario", "laws", "bandwidths [rad/s]", "payload [kg], choosing / judging", "push [N]",
        "friction [N m, N]", "price of travel [(m, rad)/(N m/s)]",
    )  # fmt: skip
    return table(["robot", *heads], body)


def _span(sizes: Mapping[str, float]) -> str:
    low, high = min(sizes.values()), max(sizes.values())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def about() -> dict[str, float]:
    """Return how long each robot takes a processor [s]."""
    stored: dict[str, float] = json.loads(ABOUT.read_text(encoding="utf-8"))
    return stored


def runs() -> str:
    """Return how many runs there were, of laws that begin."""
    begun = sum(not setting.refused for setting in load().values())
    return f"{begun * sum(map(len, PHASES.values())):,.0f}".replace(",", " ")


def minutes() -> str:
    """Return how long all takes a processor."""
    return f"{sum(about().values()) / 60.0:.0f}"


TABLES: dict[str, Callable[[], str]] = {
    **{f"survey-{robot}": errors(robot) for robot in ROBOTS},
    "against-plain": against_plain,
    "standing": standing,
    "disguised": disguised,
    "robots": robots,
}
FACTS: dict[str, Callable[[], str]] = {
    "runs": runs,
    "minutes": minutes,
    "speeds": lambda: str(SPEEDS),
    "troubles": lambda: str(len(TROUBLES)),
    "laws": lambda: str(len(laws_of(tuple(ROBOTS)))),
}
