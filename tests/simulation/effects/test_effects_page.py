"""The page of effects: every kind and key stands on it, and every example can be attached."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from pydantic import TypeAdapter

from ukctrl import Robot
from ukctrl.simulation.effects import AnyEffect, RunContext
from ukctrl.simulation.effects.attached_effects import AttachedEffects, refuse_contradictions

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "effects.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = [
    table
    for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    for table in tomllib.loads(block)["effect"]
]
KINDS = {member.kind: member for member in get_args(get_args(AnyEffect)[0])}


def test_the_page_shows_every_kind():
    assert {table["kind"] for table in EXAMPLES} == set(KINDS)
    assert re.findall(r"^### (\w+)$", TEXT, re.MULTILINE) == list(
        dict.fromkeys(re.findall(r"\[`(\w+)`\]\(#\1\)", TEXT))
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_kind_stands_in_its_section_which_says_whether_it_is_sampled(kind):
    section = TEXT.split(f"### {kind}\n", 1)[1].split("\n##", 1)[0]
    fields = KINDS[kind].__pydantic_fields__
    keys = {field.alias or name for name, field in fields.items()} - {"kind", "name"}
    rows = "".join(re.findall(r"^\| (`.+?) \|", section, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", rows)) == keys
    assert section.lstrip().startswith("●") == KINDS[kind].sampled


@pytest.mark.parametrize("table", EXAMPLES, ids=lambda table: table["kind"])
def test_every_example_of_the_page_can_be_attached(table):
    effect = TypeAdapter(AnyEffect).validate_python(table)
    refuse_contradictions((effect,), sampled=True)
    robot = Robot.load("flexible_joint_arm" if table["kind"] == "backlash" else "two_link")
    AttachedEffects((effect,), RunContext(robot, 0.0, 5.0, 1e-3), seed=0)
