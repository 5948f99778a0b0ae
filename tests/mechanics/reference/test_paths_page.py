"""The page of paths: every example of it is a path that can be read and sampled."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from pydantic import TypeAdapter

from ukctrl.core.errors import InputError
from ukctrl.mechanics.reference import AnyOrientation, AnyReference

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "paths.md"
TEXT = PAGE.read_text(encoding="utf-8")


def fences(language):
    return re.findall(rf"```{language}[^\n]*\n(.*?)```", TEXT, re.DOTALL)


def tables(value):
    """Yield the tables with a kind at the top of a TOML value, not those inside them."""
    if isinstance(value, dict):
        if "kind" in value and value["kind"] != "point_follows":
            yield value
        else:
            for part in value.values():
                yield from tables(part)
    elif isinstance(value, list):
        for part in value:
            yield from tables(part)


PATHS, ORIENTATIONS = (
    [spec for block in fences("toml") if block in part for spec in tables(tomllib.loads(block))]
    for part in TEXT.split("## Orientations")
)


def kinds_of(union):
    return {member.kind for member in get_args(get_args(union)[0])}


WORKED_OUT = "retimed", "optimised", "exciting"
"""Paths that a scenario's robot decides."""


def timed(specs):
    return [spec for spec in specs if spec["kind"] not in WORKED_OUT]


@pytest.mark.parametrize("union", [AnyReference, AnyOrientation], ids=["path", "orientation"])
def test_one_that_the_robot_decides_is_read_and_has_no_value_without_its_scenario(union):
    specs = PATHS if union is AnyReference else ORIENTATIONS
    untimed = [spec for spec in specs if spec["kind"] in WORKED_OUT]
    assert untimed
    for spec in untimed:
        with pytest.raises(InputError, match="must stand in a servo row"):
            TypeAdapter(union).validate_python(spec)(0.0)


@pytest.mark.parametrize("spec", timed(PATHS), ids=lambda spec: spec["kind"])
def test_every_path_of_the_page_can_be_sampled(spec, tmp_path):
    (tmp_path / "path.csv").write_text(fences("csv")[0], encoding="utf-8")
    path = TypeAdapter(AnyReference).validate_python(spec, context={"base": tmp_path})
    assert np.isfinite(path.sample([-1.0, 0.0, 0.7, 9.0])).all()


@pytest.mark.parametrize("spec", timed(ORIENTATIONS), ids=lambda spec: spec["kind"])
def test_every_orientation_of_the_page_can_be_sampled(spec):
    path = TypeAdapter(AnyOrientation).validate_python(spec)
    assert np.isfinite(path(0.7).R).all()


def test_the_page_shows_every_kind():
    assert {spec["kind"] for spec in PATHS} == kinds_of(AnyReference)
    assert {spec["kind"] for spec in ORIENTATIONS} == kinds_of(AnyOrientation)
