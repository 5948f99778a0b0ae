"""All advice of `check`: made to the scenario whose check prints it, or listed as not made.

A new remedy in the table fails the first test until it is tried or listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ukctrl import Check, Scenario, check, simulate
from ukctrl.analysis.check.sentences import NOT_TRIED, REMEDIES, SLOW_DOWN

TESTS = Path(__file__).parents[2]
PLAIN = {"controller": {"use": "servo-baumgarte"}}
SLOW_JOINT = {"robot": {"use": "scara", "limit": [{"joint": "q1", "velocity": 0.2}]}}
NEAR = {"start": {"q": {"q1": "-30*deg", "q2": "55*deg", "q3": "-25*deg"}, "solve": True}}
HELIX = {"x": "0.05*sin(0.4*pi*t)", "y": "0.35 + 0.05*cos(0.4*pi*t)", "z": "0.02*t"}


def helix(rate: float = 1.0, retimed: tuple[float, float] | None = None) -> dict[str, Any]:
    """Return the helix of the catalogue at a part of its speed, or retimed on a span."""
    path = {"kind": "expression", **{k: v.replace("t)", f"({rate}*t))") for k, v in HELIX.items()}}
    path["z"] = f"0.02*({rate}*t)"
    if retimed is not None:
        path = {"kind": "retimed", "of": path, "span": list(retimed)}
    return {"servo": [{"kind": "point_follows", "frame": "tool", "path": path},
                      {"kind": "expression", "phi": "q1 + q2 + q3", "unit": "rad"}]}  # fmt: skip


def advice(found: Check) -> Iterator[tuple[str, str]]:
    """Yield every sentence with its cure, what follows from a cause included."""
    for cause in found.causes:
        yield cause.text, cause.cure
        yield from ((each.text, each.remedy) for each in cause.follows)


def cure_of(found: Check, words: str) -> str:
    [cure] = {cure for text, cure in advice(found) if words in text}
    return cure


def timing_of(found: Check) -> Any:
    assert found.motion is not None
    return found.motion.timing


def the_law_gives_way() -> None:
    given = Scenario.load("stretched-arm", PLAIN)
    before = check(given)
    assert 'controller.allocation.kind = "damped"' in cure_of(before, "is out of reach")
    assert not before.ok
    advised = given.replace({"controller.allocation.kind": "damped"})
    assert check(advised).ok
    assert simulate(advised).status == "completed"


def the_law_keeps_within_limits() -> None:
    given = Scenario.load("scara-weak-motors", PLAIN)
    cure = cure_of(check(given), "motor 'u2' needs")
    assert cure.startswith(SLOW_DOWN)
    assert 'controller.allocation.kind = "bounded"' in cure
    advised = given.replace({"controller.allocation.kind": "bounded"})
    assert np.abs(simulate(given)["u"][:, 1]).max() > 18.0
    assert np.abs(simulate(advised)["u"][:, 1]).max() <= 18.0 * (1.0 + 1e-9)
    assert cure_of(check(advised), "motor 'u2' needs") == f"{SLOW_DOWN}."  # it does the other


def a_slower_motion_keeps_the_speeds() -> None:
    given = Scenario.load("scara-helix", {**SLOW_JOINT, **NEAR, **helix()})
    before = check(given)
    assert cure_of(before, "joint 'q1' must move at") == f"{SLOW_DOWN}."
    for share, kept in ((0.99, True), (1.01, False)):
        after = check(given.replace(helix(share * timing_of(before).rate)))
        assert ("joint 'q1' must move at" not in str(list(advice(after)))) == kept


def the_run_lasts_until_the_paths_end() -> None:
    given = Scenario.load("scara-helix", {**SLOW_JOINT, **NEAR, **helix(retimed=(0.0, 20.0))})
    before = check(given)
    assert cure_of(before, "the retimed paths end") == "Let timing.duration be longer."
    whole = check(given.replace({"timing.duration": timing_of(before).clock_ends + 0.1}))
    assert "the retimed paths end" not in str(list(advice(whole)))


TRIED: Mapping[str, Callable[[], None]] = {
    "motion": the_law_gives_way,
    "limits": the_law_keeps_within_limits,
    "speed": a_slower_motion_keeps_the_speeds,
    "timing: retimed": the_run_lasts_until_the_paths_end,
}
"""Advice, and what makes the change to a scenario whose check prints it."""
ELSEWHERE = {
    "closures: above": "closed_loop/test_contacts.py::"
    "test_a_task_of_feet_in_the_air_is_told_to_put_them_down",
    "open": "analysis/check/test_timing.py::"
    "test_a_law_that_moves_what_the_rows_leave_open_is_warned_of_with_what_helps",
    "timing": "analysis/check/test_timing.py::"
    "test_a_path_that_is_too_fast_is_advised_to_be_retimed_as_has_been_tried",
    "keep: overrun": "analysis/check/test_safety_feasibility.py::"
    "test_that_a_limit_is_kept_is_said_only_where_a_run_keeps_it",
    "loop: period": "analysis/check/test_loop_stability.py::"
    "test_a_period_on_either_side_of_the_limit_is_judged_as_the_run_goes",
}
"""Advice that is followed in the test of what it is about."""
UNTRIED = {
    # The change of `motion` or `limits`, in another sentence
    "ranks: lost", "ranks: near", "elsewhere", "limits: rates", "ground: lifts", "ground: slides",
    # A change of the law whose case is a scenario of contacts or of long optimisation
    "law: ground", "timing: optimised",
    # Choices of whoever sets the task: which path, limit, gain or motor is another, and by how much
    "held", "missed", "place", "lifts: late", "loop: gains", "keep: doubt", "keep: unknown",
    "keep: start",
    "keep: start moves", "keep: opposed", "keep: conflict", "keep: task", "keep: crossed",
    "keep: untried", "off: open",
    "keep: unactuated",
    "observer: blind", "observer: weak",
}  # fmt: skip
"""Advice that no test follows."""


def test_all_advice_is_tried_or_listed_once():
    assert sorted([*TRIED, *ELSEWHERE, *UNTRIED]) == sorted(REMEDIES)
    for where in ELSEWHERE.values():
        file, _, name = where.partition("::")
        assert f"def {name}(" in (TESTS / file).read_text("utf-8")


@pytest.mark.parametrize("follow", dict.fromkeys(TRIED.values()), ids=lambda each: each.__name__)
def test_advice_that_is_followed_helps(follow):
    follow()


def test_where_no_speed_keeps_the_limits_none_is_advised():
    """A joint that leaves its range and is too fast: slower, it leaves its range all the same."""
    limit = {"joint": "q1", "velocity": 0.2, "position": ["-40*deg", "-20*deg"]}
    given = Scenario.load("scara-helix", {"robot": {"use": "scara", "limit": [limit]}})
    found = check(given)
    assert timing_of(found).rate == 0.0
    assert cure_of(found, "joint 'q1' must move at") == ""


def test_where_no_slower_motion_was_tried_it_is_said():
    """Without a limit of motors and speeds there is no timing; the rate of a motor is one too."""
    motors = [
        {"kind": "joint", "joint": f"q{k}", "name": f"u{k}", "rate_limit": 1.0}
        for k in (1, 2, 3, 4)
    ]
    found = check(
        Scenario.load("scara-weak-motors", {**PLAIN, "robot": {"use": "scara", "actuator": motors}})
    )
    assert timing_of(found) is None
    assert cure_of(found, "motor 'u2' must change by") == f"{SLOW_DOWN}.{NOT_TRIED}"
