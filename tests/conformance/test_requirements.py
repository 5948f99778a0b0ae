"""What clauses require, what a report of them says, and where parts are tried."""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path

import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.analysis import conformance
from ukctrl.analysis.conformance.clauses import ClauseViolation
from ukctrl.analysis.conformance.examine_file import _build_part
from ukctrl.control.feedback.linear_feedback import Baumgarte, Exact
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.simulation.assemble import Loop

# Where parts are tried


@pytest.mark.parametrize("name", ["scara-helix", "quadrotor-hover"])
def test_the_states_of_a_situation_lie_about_its_start(name):
    scenario = Scenario.load(name)
    place, start = conformance.situation(scenario, "here"), Loop(scenario).state
    robot = place.task.robot
    assert place.name == "here"
    assert conformance.situation(scenario).name == name
    np.testing.assert_allclose([t for t, _, _ in place.points], [0.0, 0.1, 0.2, 0.3])
    off = np.array([[robot.difference(start.q, q), v - start.v] for _, q, v in place.points])
    assert 0.01 < np.abs(off).max() <= 0.05
    assert len({float(one) for one in off.ravel()}) == off.size
    for (t, q, v), dynamics in zip(place.points, place.states(), strict=True):
        s = dynamics.snapshot
        assert (s.t, s.q.tolist(), s.v.tolist()) == (t, q.tolist(), v.tolist())


def test_closed_chains_are_tried_at_their_start_alone():
    """Off their loops no motion is possible."""
    closed = {place.name: place for place in conformance.situations()}
    points = closed["closed chain, redundant motors"].points
    first = points[0]
    assert len(points) == 4
    assert all((q == first[1]).all() and (v == first[2]).all() for _, q, v in points)


# Records


@dc.dataclass
class Loose:
    one: float = 1.0


@dc.dataclass(frozen=True, eq=False)
class Unequal:
    one: float = 1.0


@dc.dataclass(frozen=True)
class Moody:
    """Equal to copies, and not to what is made anew."""

    one: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "_own", object())

    def __eq__(self, other):
        return self._own is other._own

    def __deepcopy__(self, memo):
        return self

    __hash__ = None


@dc.dataclass(frozen=True)
class Forgetful:
    """Pickled without its setting."""

    one: float = 1.0

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return Forgetful, ()


def local():
    @spec
    class Local:
        one: float = 1.0

    return Local()


RECORDS = [
    (object(), "object must be a dataclass; decorate it with @spec."),
    (Loose(), "Loose must be frozen; its 'one' can be set. Decorate it with @spec."),
    (Unequal(), "Unequal must equal its own copy."),
    (Moody(), "Moody must equal dataclasses.replace of itself."),
    (Forgetful(2.0), "Forgetful must equal what its pickle gives back."),
]


@pytest.mark.parametrize(("part", "sentence"), RECORDS)
def test_what_is_no_frozen_record_is_told_so(part, sentence, told):
    told(conformance.clauses.require_record, part, sentence)


def test_a_part_that_does_not_pickle_is_found():
    with pytest.raises(
        ClauseViolation, match=r"^Local must pickle, so that runs can be spread over .*; "
    ):
        conformance.clauses.require_record(local())


def test_records_without_settings_conform():
    conformance.clauses.require_record(Exact())


# Requirements


def test_arrays_must_be_the_same_bit_for_bit():
    equal = conformance.clauses.require_equal
    equal("both", [1.0, np.nan], [1.0, np.nan])
    with pytest.raises(
        ClauseViolation, match=r"^both must .* differ in shape, \(2,\) and \(1,\)\.$"
    ):
        equal("both", [1.0, 2.0], [1.0])
    with pytest.raises(ClauseViolation, match=r"^both must .* differ by up to 2\.0e\+00\.$"):
        equal("both", [1.0, 2.0, 5.0], [1.0, 4.0, 4.0])
    with pytest.raises(ClauseViolation, match=r"differ by up to 0\.0e\+00\.$"):
        equal("both", [0.0], [-0.0])


def test_arrays_must_agree_relative_to_what_is_wanted():
    close = conformance.clauses.require_close
    close("both", [], [], 0.0)
    close("both", [100.0, 1.0], [99.0, 1.0], 0.01)
    with pytest.raises(
        ClauseViolation, match=r"^both must agree to 1e-02; they differ by 1\.2e-02\.$"
    ):
        close("both", [0.0, 1.0], [0.0, 1.0 + 0.024 / 0.988], 0.01)
    with pytest.raises(ClauseViolation, match=r"^both: shapes \(1,\) and \(2,\) differ\.$"):
        close("both", [1.0], [1.0, 1.0], 1.0)


# Reports


def test_a_report_lists_what_fails():
    suite = conformance.Suite("part")

    @suite.clause
    def is_small(part):
        """It is
        small."""
        conformance.clauses.require(part < 2, "it must be small.")

    @suite.clause
    def _divides_(part):
        """It divides."""
        return 1 / part

    assert len(suite) == 2
    assert [str(clause) for clause in suite] == ["is_small", "divides"]
    assert next(iter(suite)) in suite
    assert next(iter(conformance.FEEDBACK)) not in suite
    sound = suite.examine(1, "one")
    sound.confirm()
    assert sound.ok
    small = {"clause": "is_small", "sentence": "It is small.", "ok": True, "detail": ""}
    divides = {"clause": "divides", "sentence": "It divides.", "ok": True, "detail": ""}
    assert sound.to_dict() == {
        "kind": "part", "name": "one", "ok": True, "clauses": [small, divides],
    }  # fmt: skip
    with pytest.raises(
        ClauseViolation, match=r"^part 'three' does not conform: is_small: it must be smal"
    ):
        suite.examine(3, "three").confirm()
    none = suite.examine(0, "none")
    assert not none.ok
    assert [finding.ok for finding in none.findings] == [True, False]
    assert "ZeroDivisionError" in none.findings[1].detail


# Parts of a file


def test_a_setting_of_one_part_goes_before_that_of_all():
    def made(**settings):
        given = {name.replace("_", "."): value for name, value in settings.items()}
        return _build_part(Baumgarte, "Mine", given, Path("mine.py"))

    assert made() == Baumgarte(alpha=1.0, beta=1.0)
    assert made(alpha=3.0, Mine_alpha=7.0, Other_beta=5.0) == Baumgarte(alpha=7.0, beta=1.0)
    assert made(alpha=3.0, beta=4.0) == Baumgarte(alpha=3.0, beta=4.0)
    with pytest.raises(InputError, match=r"--set Mine.NAME=VALUE\.$"):
        made(alpha=-1.0)
