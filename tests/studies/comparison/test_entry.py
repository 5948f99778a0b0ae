"""How the controllers of a comparison are written, and what came of their runs is gathered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ukctrl import Scenario
from ukctrl.control import PdGravity
from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.core.fields import spec
from ukctrl.studies.batch.run_store import run_missing
from ukctrl.studies.batch.task import TaskFailure
from ukctrl.studies.comparison import Entry
from ukctrl.studies.comparison.entry import missing_settings


@pytest.mark.parametrize(
    ("text", "card", "name", "changes"),
    [
        ("servo-pid", "servo-pid", "", {}),
        ("light=servo-pid", "servo-pid", "light", {}),
        ("./cards/my law.toml", "./cards/my law.toml", "", {}),
        (
            "servo-pid{believed.mass_scale=0.8}",
            "servo-pid",
            "servo-pid{believed.mass_scale=0.8}",
            {"believed.mass_scale": 0.8},
        ),
        (
            "x = servo-pid { believed.mass_scale = {q2=0.8, q4=1.2}, controller.title = 'a, b' }",
            "servo-pid",
            "x",
            {"believed.mass_scale": {"q2": 0.8, "q4": 1.2}, "controller.title": "a, b"},
        ),
        (
            "x=servo-pid{believed.com_shift=[0, 0, 5*mm], }",
            "servo-pid",
            "x",
            {"believed.com_shift": "[0, 0, 5*mm]"},
        ),
        ("x=servo-pid{}", "servo-pid", "x", {}),
    ],
)
def test_an_entry_is_a_card_with_a_name_and_changes(text, card, name, changes):
    entry = Entry.parse(text)
    assert (entry.controller, entry.name, dict(entry.changes)) == (card, name, changes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the name of a card is missing"),
        ("=servo-pid", "a name before '=' is missing"),
        ("light=", "the name of a card is missing"),
        ("a{believed.mass_scale=0.8", "the brace '{' is not closed"),
        ("a{believed.mass_scale}", "must have KEY=VALUE in its braces; got 'believed.mass_scale'"),
        ("a{believed.mass_scale=1, believed.mass_scale=2}", "is given twice"),
        ("a{beleived.mass_scale=1}", "did you mean 'believed'?"),
        ("a{timing.control=0.1}", "changed with --set"),
        ("a{controller=1}", "what is below controller and believed; got 'controller'"),
    ],
)
def test_what_is_written_otherwise_is_refused(text, says):
    with pytest.raises(InputError) as refused:
        Entry.parse(text)
    assert says in str(refused.value)


def test_an_entry_is_applied_to_a_scenario_and_named():
    scenario = Scenario.load("scara-helix")
    entry = Entry.parse("light=servo-pid{believed.mass_scale=0.8, controller.feedback.kd=40}")
    variant = entry.apply(scenario)
    assert variant.believed.mass_scale == 0.8
    assert variant.controller.feedback.kd == 40.0
    assert variant.servo == scenario.servo
    assert entry.called(variant) == "light"
    assert Entry(controller="servo-pid").called(variant) == "servo-pid"
    law = Entry(controller=PdGravity(kp=1.0, kd=1.0), changes={"controller.kp": 5.0})
    assert law.apply(scenario).controller == PdGravity(kp=5.0, kd=1.0)


def test_a_misspelt_gain_is_refused_with_the_near_miss():
    entry = Entry.parse("servo-pid{controller.feedback.kdd=40}")
    with pytest.raises(InputError, match="unknown key; did you mean 'kd'"):
        entry.apply(Scenario.load("scara-helix"))


class Crew:
    """A crew that hands over outcomes in an order of its own, and then ends as it is told."""

    def __init__(self, *outcomes, error=None, going=True):
        self.outcomes, self.error, self.going = outcomes, error, going

    def run(self, runs, take, progress):
        for k, outcome in self.outcomes:
            take(k, outcome)
        if self.error is not None:
            raise self.error
        return self.going


def ran(name, stopped=False):
    return SimpleNamespace(name=name, stopped=stopped)


def runs(*strict):
    def one(strict):
        return SimpleNamespace(
            strict=strict, failure_summary=lambda *told: SimpleNamespace(name=told, stopped=False)
        )

    return [one(each) for each in strict]


class Unknown:
    """A journal that knows nothing, and keeps what is done."""

    def __init__(self):
        self.added = []

    def find(self, run):
        return None

    def add(self, run, outcome):
        self.added.append(outcome.name)


FULL = MachineFailure("no disk.")


@pytest.mark.parametrize(
    ("crew", "names", "stopped", "failure"),
    [
        (Crew((2, ran("c")), (0, ran("a")), (1, ran("b"))), ["a", "b", "c"], False, ""),
        (
            Crew((1, TaskFailure("killed.")), (0, ran("a"))),
            ["a", ("interrupted", "killed.")],
            False,
            "",
        ),
        (Crew((1, ran("b")), going=False), ["b"], True, ""),
        (Crew((1, ran("b")), error=FULL), ["b"], False, "no disk."),
    ],
)
def test_runs_come_in_their_order_whichever_is_done_first(crew, names, stopped, failure):
    kept = Unknown()
    outcomes, *rest = run_missing(runs(True, False, False), kept, crew, None)
    assert [outcome.name for outcome in outcomes] == names
    assert rest == [stopped, failure]
    assert sorted(kept.added, key=str) == sorted(names[names[0] == "a" :], key=str)


def test_without_a_single_first_run_there_is_nothing_to_compare():
    with pytest.raises(MachineFailure, match="no disk"):
        run_missing(runs(True, True), Unknown(), Crew(error=FULL), None)
    assert run_missing(runs(False, True), Unknown(), Crew(error=FULL), None) == (
        [],
        False,
        "no disk.",
    )


@pytest.mark.parametrize(("strict", "kept"), [(True, 1), (False, 0)])
def test_of_a_stopped_run_the_first_is_kept_and_half_a_repeat_is_none(strict, kept):
    class Stopped(Crew):
        def run(self, runs, take, progress):
            with pytest.raises(KeyboardInterrupt):
                take(0, ran("half", stopped=True))
            return False

    outcomes, stopped, _ = run_missing(runs(strict), Unknown(), Stopped(), None)
    assert (len(outcomes), stopped) == (kept, True)


@spec
class Detail:
    """A part of a part, of which a setting may be left out."""

    gain: float = 1.0


@spec
class Whole:
    """A controller with a part that has a default, and one that may be left out."""

    part: Detail = Detail()
    extra: Detail | None = None


@spec
class Other:
    """A controller without any part."""


@pytest.mark.parametrize("other", [Whole(), Other()], ids=["of its kind", "of another"])
def test_of_a_part_with_a_default_what_differs_is_told_and_of_another_part_all(other):
    """What a part is where it is left out is known, setting by setting, or there is nothing."""
    own = Whole(part=Detail(gain=2.0), extra=Detail())
    assert list(missing_settings(own, other)) == [
        "controller.part.gain = 2.0", "controller.extra = { gain = 1.0 }"
    ]  # fmt: skip
    assert list(missing_settings(Whole(), other)) == []
