"""What a fair comparison keeps equal, checked on the resolved scenarios and on the arrays."""

from __future__ import annotations

import dataclasses as dc
import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ukctrl.core.errors import quoted
from ukctrl.core.number_text import number, unit_text
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import BelievedRobot
from ukctrl.studies.batch.mismatch_level import MismatchLevel, at_mismatch
from ukctrl.studies.tuning import GainSearch

_COMPARED_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "robot": ("robot", "passive"), "belief": ("believed",), "task": ("servo",), "start": ("start",),
    "timing": ("timing",), "integrator": ("integrator",), "effects": ("effect", "effects"),
    "seed": ("seed",),
})  # fmt: skip
"""Parts of a scenario that a fair comparison keeps equal."""
_CONTROLLER_KEYS = ("controller", "name", "title", "source", "description")
"""Parts of a scenario that may differ."""


DEFAULT_TEXTS: Mapping[str, str] = MappingProxyType(
    {"belief": "the robot as its file has it", "effects": "none"}
)
"""What holds where a scenario says nothing about a part that a reader looks for."""


UNTUNED_TEXT = "given, for every controller: none was tuned for this task"
"""What is said of the gains of different laws as they are."""


class FairnessCondition(NamedTuple):
    """One condition of the comparison, and whether it was equal for all."""

    subject: str
    equal: bool
    text: str


class CompletedRepeats(NamedTuple):
    """What all controllers have of the repeats that were asked for."""

    repeats: int
    """Of the scenario as it is."""
    levels: Mapping[MismatchLevel, int]
    """At each level of mismatch."""
    seeds: tuple[int, ...]
    """Of the repeats."""
    same_seeds: bool
    """Whether they are the same for all."""


class RunConditions(NamedTuple):
    """How the runs were made, as far as it is not seen in them."""

    random: bool | None = None
    """Whether a seed changes anything; None: not known."""
    asked: int = 1
    """How many repeats were asked for; one that changes nothing is not run."""
    stopped: bool = False
    """Whether the user has stopped it, so that runs are missing."""
    failure: str = ""
    """At which runs the machine has failed, so that they are missing."""
    levels: tuple[MismatchLevel, ...] = ()
    """The levels of mismatch that were asked for, without 0."""
    dropped: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Settings of the scenario's own controller that entries did not take over, by their names."""
    varied: tuple[str, ...] = ()
    """What differs from repeat to repeat beside the seed, by its path."""

    @property
    def whole(self) -> bool:
        """Whether no run is missing."""
        return not (self.stopped or self.failure)

    def repeats(self, done: CompletedRepeats) -> FairnessCondition:
        """Return how many runs of each are compared, and whether their seeds are the same."""
        request = f" ({self.asked} were asked for)"
        if self.random is False and self.levels:
            count = max(done.levels.values())
            text = (
                "one run each of the scenario as it is, where nothing is random; with a mismatch "
                f"{count} of each{request if count < self.asked else ''}"
            )
        elif self.random is False and self.asked > 1:
            text = "nothing in the scenario is random: repeats change nothing, and each ran once"
        elif self.random is False:
            text = "one run each; nothing in the scenario is random"
        elif done.repeats == 1:
            text = f"one run each{request if self.asked > 1 else ''}"
        else:
            seeds = ", ".join(map(str, done.seeds[:4])) + (", ..." if done.repeats > 4 else "")
            short = request if done.repeats < self.asked else ""
            text = f"{done.repeats} of each{short}, paired: the same seeds for all, {seeds}"
        if self.varied:
            text = f"{text}; with {', '.join(self.varied)} of each, drawn apart from tuning"
        return FairnessCondition("repeats", done.same_seeds, text)

    def progress(self, done: CompletedRepeats) -> str:
        """Return how many of the asked-for repeats all controllers have."""
        clauses = []
        if self.asked > 1 and self.random is not False:
            clauses.append(f"{done.repeats} of {self.asked} repeats")
        if self.levels:
            counts = [f"{n} {at_mismatch(level)}" for level, n in done.levels.items()]
            clauses.append(f"of {self.asked} with a mismatch {', '.join(counts)}")
        return f"; all controllers have {', and '.join(clauses)}" if clauses else ""


def fairness_conditions(
    results: Mapping[str, Result], tunings: Mapping[str, GainSearch] = MappingProxyType({})
) -> tuple[FairnessCondition, ...]:
    """Return every condition, whether it was equal for all, and where the gains come from."""
    covered_keys = {key for keys in _COMPARED_KEYS.values() for key in keys} | set(_CONTROLLER_KEYS)
    extra_keys = sorted({key for run in results.values() for key in run.scenario} - covered_keys)
    conditions = []
    for subject, keys in {**_COMPARED_KEYS, **{key: (key,) for key in extra_keys}}.items():
        sections = {
            name: {key: run.scenario[key] for key in keys if key in run.scenario}
            for name, run in results.items()
        }
        if any(sections.values()) or subject in DEFAULT_TEXTS:
            conditions.append(_condition(subject, sections))
    return (*conditions, _limits(results), _start_condition(results), _gains(results, tunings))


def beliefs_differ(facts: Sequence[FairnessCondition]) -> bool:
    """Tell whether controllers have beliefs of their own, which is allowed and worth saying."""
    return any(fact.subject == "belief" and not fact.equal for fact in facts)


def _limits(results: Mapping[str, Result]) -> FairnessCondition:
    """Check that all had the same motors, and say what these can give."""
    motor_sets = {(run.labels.actuators, run.labels.effort_limit) for run in results.values()}
    if len(motor_sets) > 1:
        return FairnessCondition("limits", False, "the runs do not have the same motors")
    labels = next(iter(results.values())).labels
    entries = zip(labels.actuators, labels.effort_limit, labels.actuator_units, strict=True)
    limits = [
        f"{name} {number(limit)} {unit_text(unit)}".rstrip()
        for name, limit, unit in entries
        if 0.0 < limit < math.inf
    ]
    text = "none known" if not limits else _shortened(", ".join(limits))
    return FairnessCondition("limits", True, text)


def _start_condition(results: Mapping[str, Result]) -> FairnessCondition:
    """Check on the arrays themselves that all runs started in the same state."""
    starts = {
        (run["q"][:1].tobytes(), run["v"][:1].tobytes(), run.time[:1].tobytes())
        for run in results.values()
        if len(run.samples)
    }
    same = len(starts) <= 1
    text = "bit for bit the same in all runs" if same else "not the same in all runs"
    return FairnessCondition("first sample", same, text)


def _gains(results: Mapping[str, Result], tunings: Mapping[str, GainSearch]) -> FairnessCondition:
    if tunings:
        return _tuning_condition(results, tunings)
    origin = {name: str(run.provenance.get("gains", "given")) for name, run in results.items()}
    source, *more = set(origin.values())
    text = f"{source}, for every controller"
    if not more and source == "given":
        laws = {_law(run.scenario.get("controller")) for run in results.values()}
        text = UNTUNED_TEXT if len(laws) > 1 else text
    elif more:
        sources = ", ".join(f"{source} for '{name}'" for name, source in origin.items())
        text = f"{sources}; tuned against given gains is no fair comparison"
    return FairnessCondition("gains", not more, text)


def _law(controller: object) -> tuple[str, str]:
    """Return the kinds of a controller and of its feedback."""
    table = controller if isinstance(controller, Mapping) else {"kind": str(controller)}
    feedback = table.get("feedback")
    inner = feedback.get("kind", "") if isinstance(feedback, Mapping) else ""
    return str(table.get("kind", "")), str(inner)


def _tuning_condition(
    results: Mapping[str, Result], tunings: Mapping[str, GainSearch]
) -> FairnessCondition:
    searched = {name: tuning for name, tuning in tunings.items() if tuning.gains}
    fixed = tuple(name for name, tuning in tunings.items() if not tuning.gains)
    apart = f"; without gains: {quoted(fixed)}" if fixed else ""
    spent = {tuning.simulations for tuning in searched.values()}
    if set(tunings) == set(results) and len(spent) <= 1:
        any_one = next(iter(searched.values()), None)
        if any_one is None:
            return FairnessCondition("gains", True, "there are none to tune")
        count = len(any_one.every)
        budget = f"tuned with {spent.pop()} simulations each"
        budget += f" in each of {count} searches" if count > 1 else ""
        where = "a seed" if any_one.plants * count == 1 else "plants"
        text = f"{budget}, for {any_one.cost}, on {where} that no repeat has"
        alone = tuple(name for name, tuning in searched.items() if not tuning.in_terms)
        if not alone:
            text = f"{text}; over bandwidth and damping"
        elif len(alone) < len(searched):
            text = f"{text}; over bandwidth and damping, of {quoted(alone)} over its own gains"
        return FairnessCondition("gains", True, f"{text}{apart}")
    counts = ", ".join(f"{one.simulations} for '{name}'" for name, one in searched.items())
    text = f"tuned with unequal numbers of simulations: {counts}{apart}"
    return FairnessCondition("gains", False, text)


def _condition(subject: str, sections: Mapping[str, Mapping[str, Any]]) -> FairnessCondition:
    groups: dict[str, list[str]] = {}
    for name, section in sections.items():
        groups.setdefault(json.dumps(section, sort_keys=True), []).append(name)
    absent, describe = DEFAULT_TEXTS.get(subject, "none"), _DESCRIPTIONS.get(subject, _one_line)
    if len(groups) == 1:
        section = next(iter(sections.values()))
        return FairnessCondition(subject, True, describe(section) if section else absent)
    texts = [
        f"{describe(sections[names[0]]) or absent} for {quoted(names)}" for names in groups.values()
    ]
    return FairnessCondition(subject, False, "; ".join(texts))


def _one_line(section: Mapping[str, Any]) -> str:
    """Return a table of a scenario on one line, without the name of the only key."""
    value = next(iter(section.values())) if len(section) == 1 else section
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace('"', "")
    text = text[1:-1] if isinstance(value, Mapping) else text
    return _shortened(text)


def _shortened(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


_EMPTY_VALUES: tuple[object, ...] = ("", 0, None, [], {})
"""Settings of an effect that say nothing."""


def _effects(section: Mapping[str, Any]) -> str:
    """Return each effect by its kind, with what it is set to."""
    effects = [entry for value in section.values() for entry in value if isinstance(entry, Mapping)]
    return ", ".join(map(_kind_text, effects)) or "none"


def _kind_text(entry: Mapping[str, Any]) -> str:
    """Return the kind of a part, with what it is set to."""
    settings = {
        k: value for k, value in entry.items() if k != "kind" and value not in _EMPTY_VALUES
    }
    suffix = f" ({_one_line({'': settings})})" if settings else ""
    return f"{entry.get('kind', '?')}{suffix}"


def _belief(section: Mapping[str, Any]) -> str:
    change = believed_changes(section.get("believed"))
    return _one_line({"": change}) if change else DEFAULT_TEXTS["belief"]


def believed_changes(believed: object) -> dict[str, Any]:
    """Return what a controller believes otherwise than the file says."""
    beliefs = believed if isinstance(believed, Mapping) else {}
    plain = json.loads(json.dumps(dc.asdict(BelievedRobot())))
    return {key: value for key, value in beliefs.items() if key not in plain or value != plain[key]}


def _robot(section: Mapping[str, Any]) -> str:
    robot = section.get("robot")
    if isinstance(robot, Mapping):
        return str(robot.get("name") or robot.get("title") or robot.get("model") or "as given")
    return str(robot or "as given")


def _task(section: Mapping[str, Any]) -> str:
    blocks = section.get("servo") or []
    kinds = [str(block.get("kind", "?")) for block in blocks if isinstance(block, Mapping)]
    return f"servo blocks: {', '.join(kinds) or 'none'}"


_DESCRIPTIONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {"robot": _robot, "belief": _belief, "task": _task, "effects": _effects}
    | {"observer": lambda section: _kind_text(section["observer"])}
)
