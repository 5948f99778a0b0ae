"""An error from inside is told as one of an argument where an argument is wrong, and only there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import ArgumentError, InputError, ShapeError


class Robot:
    """As a class that pydantic has no check of."""

    nq = 2


@explain_argument_errors
def work(
    robot: Robot,
    count: int = 1,
    share: float = 0.5,
    paths: Sequence[str] = (),
    table: Mapping[str, object] | None = None,
    call: Callable[[int], int] | None = None,
    place: Path | str = "",
) -> float:
    """Do what fails with other arguments."""
    size = robot.nq * (count + 1) * share
    for path in paths:
        size += len(path.partition(".")[0])
    size += sum(len(key) for key in (table or {}).keys())  # noqa: SIM118
    return size + (call(3) if call else 0) + len(Path(place).name)


def test_a_call_that_works_is_not_looked_at():
    """Also with what the annotations do not say."""
    assert work(Robot(), True, 2, ["a.b"], {"x": 1}, lambda k: k, Path("c")) == 14
    assert inspect.signature(work).parameters["count"].default == 1
    assert work.__name__ == "work"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"robot": "scara"}, "robot must be Robot; got 'scara'."),
        ({"count": "3"}, "count must be int; got '3'."),
        ({"count": None}, "count must be int; got None."),
        ({"share": "half"}, "share must be float; got 'half'."),
        ({"paths": 3}, "paths must be Sequence[str]; got 3."),
        ({"paths": [3]}, "paths must be Sequence[str]; got a list."),
        ({"table": [1]}, "table must be Mapping[str, object] | None; got a list."),
        ({"call": 3}, "call must be Callable[[int], int] | None; got 3."),
        ({"place": 3}, "place must be Path | str; got 3."),
        ({"conut": 3}, "work has no argument 'conut'; did you mean 'count'? Known: robot, count,"),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_accepted(arguments, says):
    with pytest.raises(ArgumentError) as refusal:
        work(**{"robot": Robot(), **arguments})
    assert says in str(refusal.value)
    assert isinstance(refusal.value.__cause__, AttributeError | TypeError)


def test_an_argument_too_few_or_too_many_is_told():
    with pytest.raises(ArgumentError, match=r"work: missing a required argument: 'robot'\."):
        work()
    with pytest.raises(ArgumentError, match=r"work: too many positional arguments\."):
        work(*[1] * 9)


def test_the_error_of_a_users_own_function_stays_what_it_is():
    def own(k):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as error:
        work(Robot(), call=own)
    assert not isinstance(error.value, InputError)


def test_an_error_of_ours_stays_what_it_is():
    @explain_argument_errors
    def refuses(count: int) -> None:
        raise ShapeError("q must have shape (2,).")

    with pytest.raises(ShapeError, match="q must have shape"):
        refuses("3")
