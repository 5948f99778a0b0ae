"""The decision table: every reason is a number of the study, and every claim is checked on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markdown_text import table
from survey_verdicts import Advice, survey_rows

Studies = Mapping[str, Mapping[str, Any]]
TOOL, ALL = "rms_phi.tool", "rms_phi"
TWO_POLES = ("servo-baumgarte", "computed-torque", "servo-chen-robust")
"""Laws under which an error has two poles, near zero."""
THREE_POLES = ("servo-pid", "servo-momentum-observer", "servo-integral-sliding")
"""Laws with an integral or an observer beside."""


class Study(NamedTuple):
    """The stored comparisons, asked for single numbers."""

    stored: Studies

    def value(self, case: str, law: str, metric: str = TOOL) -> float:
        """Return a metric of a law that has completed; infinite where it has not."""
        record = self.stored[case]
        entry = record["entries"][law]
        if entry["status"] != "completed" or entry["completed"] < record["repeats"]:
            return float("inf")
        return float(entry["metrics"][metric])

    def best(self, case: str, metric: str = TOOL) -> tuple[str, ...]:
        """Return who is best, or cannot be told apart from it."""
        return tuple(self.stored[case]["best"].get(metric) or ())

    def status(self, case: str, law: str) -> str:
        """Return how a law ended."""
        return str(self.stored[case]["entries"][law]["status"])


def mm(value: float) -> str:
    """Return a length in millimetres."""
    scaled = 1e3 * value
    return f"{scaled:.2g}" if scaled < 100.0 else f"{scaled:.0f}"


def span(values: Sequence[float]) -> str:
    """Return the least and the largest length in millimetres; one number where they are alike."""
    low, high = mm(min(values)), mm(max(values))
    return low if low == high else f"{low} to {high}"


def codes(names: tuple[str, ...]) -> str:
    """Return names as code."""
    return ", ".join(f"`{name}`" for name in names)


def decide(stored: Studies) -> str:
    """Return the decision table.

    Raises:
        RuntimeError: The study does not support a row.
    """
    rows = advice(Study(stored))
    for row in rows:
        if not row.holds:
            raise RuntimeError(f"the study does not support '{row.situation}': {row.because}")
    link = "[measured](#{})".format
    body = [[row.situation, row.use, f"{row.because} ({link(row.section)})"] for row in rows]
    return table(["on my robot", "use", "because"], body)


def advice(of: Study) -> list[Advice]:
    """Return every row with its reason, and whether the study supports it."""
    return [*_models(of), *survey_rows(), *_robots(of)]


def _models(of: Study) -> list[Advice]:
    same = max(
        float(of.stored["exact-helix"]["entries"][law]["apart"])
        for law in ("servo-gauss", "operational-space", "resolved-acceleration")
    )
    two, three = (
        [of.value("alike-mass", law) for law in laws] for laws in (TWO_POLES, THREE_POLES)
    )
    return [
        Advice(
            "as many rows and motors as freedoms, a good model",
            "`servo-baumgarte`, `servo-gauss`, `operational-space` or `resolved-acceleration`",
            "their inputs are within rounding of each other",
            "the-model-is-right",
            same < 1e-6,
        ),
        Advice(
            "a model that is wrong, and no noise to speak of",
            "an integral or an observer: `servo-pid`, `servo-momentum-observer`; then as stiff as "
            "noise and sampling allow",
            f"30 % of mass, all loops at 300 rad/s: {span(three)} mm; laws of two poles, "
            f"`servo-chen-robust` among them, {span(two)} mm",
            "all-loops-equally-stiff",
            max(three) < min(two) / 5.0 and max(two) < 1.5 * min(two),
        ),
    ]


def _robots(of: Study) -> list[Advice]:
    soft = "elastic-0.3"
    cascade = [of.value(f"elastic-{k:g}", "elastic-cascade", ALL) for k in (0.3, 1, 3, 10)]
    exact = of.value(soft, "elastic-linearisation", ALL)
    squeeze = of.value("carry", "servo-chen", "effort") / of.value(
        "carry", "servo-baumgarte", "effort"
    )
    relaxed = of.value("weak", "servo-bounded, relaxed", "peak_phi.tool")
    swing = of.stored["redundant"]["entries"]
    turmoil = (
        swing["servo-baumgarte"]["metrics"]["work"]
        / swing["servo-gauss, posture"]["metrics"]["work"]
    )
    return [
        Advice(
            "motors that are too weak",
            '`servo-bounded`; `on_limit = "relax"` where part of the task matters more',
            f"it leaves the path by {mm(of.value('weak', 'servo-bounded', 'peak_phi.tool'))} "
            "mm, cut torques by "
            f"{mm(of.value('weak', 'servo-baumgarte', 'peak_phi.tool'))}; relaxed, the tool stays "
            "within a micrometre and the wrist turns",
            "weak-motors-singular-poses-a-joint-too-many",
            relaxed < 1e-6
            and of.value("weak", "servo-bounded", "peak_phi.tool")
            < of.value("weak", "servo-baumgarte", "peak_phi.tool"),
        ),
        Advice(
            "a path past a singular pose",
            "`servo-damped`",
            f"it misses by {mm(of.value('singular', 'servo-damped, wider', 'peak_phi'))} mm, if it "
            "begins early enough; the exact laws end "
            f"at {of.stored['singular']['entries']['servo-baumgarte']['reached']:.2g} s",
            "weak-motors-singular-poses-a-joint-too-many",
            of.best("singular", "peak_phi") == ("servo-damped, wider",)
            and all(
                of.status("singular", law) == "diverged"
                for law in ("servo-baumgarte", "operational-space")
            ),
        ),
        Advice(
            "more joints than rows",
            "`servo-gauss` with a posture",
            f"the least torque (`servo-baumgarte`) does {turmoil:.1f} times the work: its "
            "elbow swings",
            "weak-motors-singular-poses-a-joint-too-many",
            turmoil > 1.5,
        ),
        Advice(
            "more rows than joints",
            "`servo-prioritized`",
            "what stands first is kept to rounding; damping alone (`servo-damped`) misses "
            "all, the place by "
            f"{mm(of.value('priorities', 'servo-damped', 'rms_phi.place'))} mm",
            "weak-motors-singular-poses-a-joint-too-many",
            of.value("priorities", "place first", "rms_phi.place") < 1e-9,
        ),
        Advice(
            "elastic joints, springs not known well or stiff",
            "`elastic-cascade`",
            f"{mm(max(cascade))} to {mm(min(cascade))} mm, mrad over a factor of 30 in "
            "stiffness, and never unstable",
            "elastic-joints",
            max(cascade) < float("inf"),
        ),
        Advice(
            "elastic joints, soft springs and a good model of them",
            "`elastic-linearisation`",
            f"{mm(exact)} mm, mrad at 0.3 of the stiffness; the cascade {mm(cascade[0])}",
            "elastic-joints",
            exact < cascade[0],
        ),
        Advice(
            "fewer motors than freedoms: swing up, balance",
            "a `switching` controller: `swing-up`, then `lqr`",
            "from hanging, LQR alone diverges and a servo law is infeasible; from 10° off "
            "the top the two are one",
            "fewer-motors-than-freedoms-floating-bases",
            of.status("hanging", "swing-up, then lqr") == "completed"
            and of.status("hanging", "lqr alone") == "diverged"
            and of.status("hanging", "servo-baumgarte") == "infeasible"
            and of.stored["leaning"]["entries"]["lqr alone"]["apart"] < 1e-6,
        ),
        Advice(
            "a quadrotor",
            "`thrust-vectoring`",
            "servo laws are infeasible: no motor pushes sideways",
            "fewer-motors-than-freedoms-floating-bases",
            of.status("quadrotor", "thrust-vectoring") == "completed"
            and of.status("quadrotor", "servo-baumgarte") == "infeasible",
        ),
        Advice(
            "closed chains, two arms, legs",
            "`servo-baumgarte`; with `null_space = internal_force` to press",
            f"the least effort; `servo-chen` takes {squeeze:.1f} times as much for the same "
            "motion of two arms, on other robots less; `servo-frozen` misses it",
            "closed-chains-and-two-arms",
            squeeze > 1.5 and "servo-baumgarte" in of.best("carry", "effort"),
        ),
    ]
