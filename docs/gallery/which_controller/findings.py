"""What the survey says in sentences: each is made of counts, and left out where they are small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from outcomes import Case, cases
from survey_tables import PLAIN, RIGID, beside, digits, up_to
from trials import INTEGRAL, LEARNING, ROBOTS

DISTURBED = ("masses off by 30 %", "an untold payload", "a push", "friction")
"""Troubles that a force on the rows stands for."""


def findings() -> str:
    """Return the sentences that the counts carry, as a list."""
    return "\n".join(f"- {text}" for text in _sentences())


def _told() -> list[Case]:
    """Return the cases of robots without springs in which somebody is called best."""
    return [case for (robot, _), case in cases().items() if robot in RIGID and not case.withheld]


def _sentences() -> Iterator[str]:
    yield from _integral()
    yield from _withheld()
    yield from _robust()
    yield from _delayed()
    yield from _learning()
    yield from _joint_by_joint()
    yield from _springs()


def _integral() -> Iterator[str]:
    every = [case for case in _told() if case.trouble in DISTURBED]
    first = [case for case in every if case.ranked[0].law in (*INTEGRAL, *LEARNING)]
    if 3 * len(first) > 2 * len(every):
        yield (
            "**What a wrong model, a payload, a push and friction want is something that takes a "
            "force away**: an integral, an observer of the disturbance or an estimate of the "
            f"masses has the least cost in {len(first)} of {len(every)} cases."
        )


def _withheld() -> Iterator[str]:
    soft = [case for case in cases().values() if case.robot in RIGID and case.withheld]
    lowest = [
        case
        for case in soft
        if case.ranked[0].bandwidth == min(ROBOTS[case.robot].bandwidths)
        and case.trouble in ("a right model", "ten times the noise")
    ]
    if len(lowest) >= 4:
        yield (
            f"**With a right model, gains only pass noise on.** In {len(lowest)} of "
            f"{2 * len(RIGID)} cases the softest loop of the range has the least cost, and no law "
            "is called best: there is nothing to be good at."
        )


def _robust() -> Iterator[str]:
    found = beside("servo-chen-robust", PLAIN, RIGID)
    if not found.cases:
        return
    yield (
        f"**A robust law beside a plain loop of the same travel**: `servo-chen-robust` has less "
        f"error than `{PLAIN}` in {found.less} of {found.cases} cases"
        f"{up_to(found.less, found.least)}, more in {found.more}{up_to(found.more, found.most)}, "
        f"and in {found.alike} no test tells them apart."
    )


def _delayed() -> Iterator[str]:
    every = [
        case for case in _told() if "time-delay" in case.laws and case.laws["time-delay"].completed
    ]
    least = [
        case for case in every if min(case.ranked, key=lambda one: one.error).law == "time-delay"
    ]
    if len(least) < 3:
        return
    travels = [case.laws["time-delay"].travel / case.laws[PLAIN].travel for case in least]
    yield (
        f"**Time-delay control pays with its motors.** Its error is the least of all in "
        f"{len(least)} of the {len(every)} cases it completes, and its inputs travel "
        f"{digits(float(np.median(travels)))} times as far as those of `{PLAIN}`, in the median: "
        "it takes a force from differences of measured velocities, noise and all."
    )


def _learning() -> Iterator[str]:
    law = "slotine-li-adaptive"
    every = [case for case in cases().values() if case.robot in RIGID and law in case.laws]
    best = [case for case in every if law in case.best]
    broken = [case for case in every if not case.laws[law].completed]
    if best or broken:
        yield (
            f"**What learns the masses** (`{law}`) is best, or not told from the best, in "
            f"{len(best)} of {len(every)} cases, and in {len(broken)} not all of its runs complete."
        )


def _joint_by_joint() -> Iterator[str]:
    law = "pid"
    worse = [
        case
        for case in _told()
        if all(name in case.laws and case.laws[name].completed for name in (law, "servo-pid"))
        and case.laws[law].error > 1.5 * case.laws["servo-pid"].error
    ]
    both = [
        case
        for case in _told()
        if all(name in case.laws and case.laws[name].completed for name in (law, "servo-pid"))
    ]
    if 2 * len(worse) > len(both):
        yield (
            "**A model is worth having, even a wrong one**: the PID of joints without a model "
            f"(`{law}`) has more than one and a half times the error of `servo-pid` in "
            f"{len(worse)} of {len(both)} cases."
        )


def _springs() -> Iterator[str]:
    for case in cases().values():
        if case.robot in RIGID or any(one.completed for one in case.laws.values()):
            continue
        rigid = [other for other in cases().values() if other.robot in RIGID]
        same = [
            one for other in rigid if other.trouble == case.trouble for one in other.laws.values()
        ]
        done = sum(one.completed for one in same)
        title = ROBOTS[case.robot].title
        yield (
            f"**Springs want a fast loop**: on the {title}, under '{case.trouble}', no law "
            f"completes its runs; of the laws on robots without springs, {done} of {len(same)} do."
        )
