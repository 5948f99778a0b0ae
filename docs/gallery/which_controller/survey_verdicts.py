"""Rows of the decision table that the survey carries; each names whom its numbers name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from outcomes import Case, cases
from survey_tables import PLAIN, RIGID, beside, digits, of_robot, up_to
from trials import ROBOTS

MOST_NAMED = 3
"""So many laws a row names at most, unless they are among the best everywhere."""
SITUATIONS = {
    "a right model": "a good model, and noise",
    "ten times the noise": "a good model, and much noise",
    "masses off by 30 %": "a model that is wrong, and noise",
    "an untold payload": "a payload that I do not know",
    "a push": "pushes and contacts",
    "friction": "friction that I have no model of",
    "250 Hz and late": "slow sampling, and a delay",
    "the bench": "a bench: all of it at once, encoders, weak motors",
}


class Advice(NamedTuple):
    """One row of the decision table."""

    situation: str
    use: str
    because: str
    section: str
    """Heading of the section with the table."""
    holds: bool
    """Whether the study supports it."""


def survey_rows() -> list[Advice]:
    """Return a row for each trouble of the survey, and what else it says."""
    return [*(_trouble(name) for name in SITUATIONS), _elastic(), _robust(), *_tuning()]


def _cases(trouble: str, robots: Sequence[str]) -> list[Case]:
    return [cases()[robot, trouble] for robot in robots if (robot, trouble) in cases()]


def _codes(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _best(every: Sequence[Case]) -> dict[str, int]:
    laws = dict.fromkeys(law for case in every for law in case.laws)
    return {law: sum(law in case.best for case in every) for law in laws}


def _share(law: str, every: Sequence[Case], of: str = PLAIN) -> float:
    """Return the error of a law in that of another, the geometric mean over cases; NaN: never."""
    ratios = [
        math.log(case.laws[law].error / case.laws[of].error)
        for case in every
        if all(name in case.laws and case.laws[name].completed for name in (law, of))
    ]
    return math.exp(float(np.mean(ratios))) if ratios else math.nan


def _end(case: Case, names: Sequence[str]) -> str:
    """Return whether laws that are best elsewhere complete no run."""
    tried = [case.laws[name].share for name in names if name in case.laws]
    never = tried and not any(done for done, count in tried if count)
    return (
        f", where {'it completes' if len(names) == 1 else 'they complete'} no run" if never else ""
    )


def _trouble(trouble: str) -> Advice:
    every = _cases(trouble, RIGID)
    told = [case for case in every if not case.withheld]
    counts = _best(told)
    most = max(counts.values(), default=0)
    names = [law for law, count in counts.items() if count == most]
    if len(told) <= len(every) / 2:
        use = "any that is as soft as the task allows"
        because = (
            f"on {len(every) - len(told)} of {len(every)} robots the law of least cost chose the "
            "end of the range, so none is called best"
        )
    elif most >= 2 and (len(names) <= MOST_NAMED or most == len(told)):
        found = [_share(name, every) for name in names]
        few = found if len(names) <= MOST_NAMED else [min(found), max(found)]
        shares = (", " if few is found else " to ").join(map(digits, few))
        use = _codes(names)
        because = (
            f"best, or not told from the best, on {most} of {len(told)} robots; {shares} times "
            f"the error of `{PLAIN}`, bandwidths chosen alike"
        )
        because += "".join(
            f"; on {ROBOTS[case.robot].title}{_end(case, names)}: {_codes(case.best[:MOST_NAMED])}"
            for case in told
            if not any(name in case.best for name in names)
        )
    else:
        use = "; ".join(
            f"{ROBOTS[case.robot].title}: {_codes(case.best[:MOST_NAMED])}" for case in told
        )
        because = (
            f"{len(names)} laws are among the best on {most} of {len(told)} robots"
            if most >= 2
            else "no law is among the best on two of the robots"
        )
    return Advice(SITUATIONS[trouble], use, because, "every-law-on-every-robot", bool(every))


def _elastic() -> Advice:
    every = list(of_robot("panda-elastic").values())
    told = [case for case in every if not case.withheld]
    counts = _best(told)
    most = max(counts.values(), default=0)
    names = [law for law, count in counts.items() if count == most]
    return Advice(
        "elastic joints",
        _codes(names),
        f"best, or not told from the best, in {most} of {len(told)} troubles that tell laws apart",
        "every-law-on-every-robot",
        most >= 2,
    )


def _robust() -> Advice:
    found = beside("servo-chen-robust", PLAIN, RIGID)
    return Advice(
        "a bound on what is wrong with my model",
        "a stiff loop first; a robust law for its promise",
        f"at equal travel `servo-chen-robust` has less error than `{PLAIN}` in {found.less} of "
        f"{found.cases} cases{up_to(found.less, found.least)}, more in "
        f"{found.more}{up_to(found.more, found.most)}",
        "what-it-costs",
        found.cases > 0 and found.less < found.cases / 2,
    )


def _tuning() -> list[Advice]:
    """Return what gains are worth in a trouble that they were not chosen for."""
    ratios = []
    for robot in RIGID:
        easy = cases().get((robot, "a right model"))
        hard = cases().get((robot, "an untold payload"))
        if easy is None or hard is None or "servo-pid" not in easy.laws:
            continue
        right = hard.laws["servo-pid"]
        moved = {p.gains["bandwidth"]: p for p in hard.fronts.laws["servo-pid"].points}
        point = moved.get(easy.laws["servo-pid"].bandwidth)
        if point is not None and point.completed and right.completed:
            ratios.append(point.means[0] / right.error)
    if not ratios:
        return []
    return [
        Advice(
            "gains found by a search",
            "choose them on a robot as wrong as yours may be",
            "`servo-pid`, its bandwidth chosen with the right model, leaves with the untold "
            f"payload {digits(min(ratios))} to {digits(max(ratios))} times the error of that "
            "chosen with one",
            "every-law-on-every-robot",
            max(ratios) > 1.1,
        )
    ]
