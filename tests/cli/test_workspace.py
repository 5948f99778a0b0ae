"""Workspaces and the schemas that editors check their files with."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from extras import needs

from ukctrl import Robot, Scenario
from ukctrl.cli.workspace import WORKSPACE_FILES, _prune_definitions, create_workspace, json_schema
from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.files import catalog
from ukctrl.mechanics import reference
from ukctrl.simulation import effects

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

FORMATS = {
    "scenario": "scenarios/*.toml",
    "controller": "controllers/*.toml",
    "robot": "robots/*/robot.toml",
}


def read(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


json_schema = functools.cache(json_schema)  # which nobody here changes


@functools.cache
def validator(kind: str) -> Draft202012Validator:
    """Return what an editor checks files of a kind with."""
    jsonschema = pytest.importorskip("jsonschema")
    return jsonschema.Draft202012Validator(json_schema(kind))


def complaints(kind: str, table: dict[str, object]) -> list[str]:
    """Return what an editor would underline."""
    return [f"{error.json_path}: {error.message}" for error in validator(kind).iter_errors(table)]


def test_a_new_workspace_has_the_three_folders_and_loads(tmp_path):
    created = create_workspace(tmp_path / "new" / "deep")
    assert [path.relative_to(tmp_path / "new" / "deep").as_posix() for path in created] == list(
        WORKSPACE_FILES
    )
    scenario = Scenario.load(tmp_path / "new" / "deep" / "scenarios" / "my-scenario.toml")
    robot = Robot.load(scenario.robot)
    assert robot.actuators == ("shoulder", "elbow")
    assert not [finding for finding in robot.audit if finding.level != "note"]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError, match="must be a new or empty folder"):
        create_workspace(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.slow
@needs("jsonschema")
@pytest.mark.parametrize("kind", FORMATS)
def test_a_schema_is_one(kind):
    import jsonschema

    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"ukctrl {kind}"
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_there_is_no_schema_of_what_there_is_not():
    with pytest.raises(UnknownName, match="did you mean 'robot'"):
        json_schema("robots")


@pytest.mark.parametrize(
    ("kind", "path"),
    [(kind, path) for kind, glob in FORMATS.items() for path in sorted(catalog.root().glob(glob))],
    ids=lambda value: value if isinstance(value, str) else f"{value.parent.name}-{value.stem}",
)
def test_every_file_of_the_catalogue_fits_its_schema(kind, path):
    assert complaints(kind, read(path)) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_every_file_of_a_new_workspace_fits_its_schema(kind, tmp_path):
    create_workspace(tmp_path)
    (path,) = tmp_path.glob(FORMATS[kind])
    assert complaints(kind, read(path)) == []


def test_a_resolved_scenario_fits_the_schema():
    assert complaints("scenario", Scenario.load("scara-helix").to_table()) == []


def test_a_law_of_ones_own_fits_the_schema():
    own = {"title": "mine", "kind": "./law.py:Mine", "kappa": "3*pi"}
    assert complaints("controller", own) == []
    table = read(catalog.root() / "scenarios" / "scara-helix.toml")
    assert complaints("scenario", {**table, "controller": own}) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"titel": "x"}, "titel"),
        ({"timing": {"duration": "5*s", "sampel": 1}}, "$.timing"),
        ({"timing": {"duration": True}}, "$.timing.duration"),
        ({"timing": {"duration": -1}}, "$.timing.duration"),
        ({"integrator": {"method": "RK5"}}, "$.integrator.method"),
        ({"servo": [{"kind": "point_folows"}]}, "$.servo[0]"),
        ({"servo": [{"frame": "tool"}]}, "$.servo[0]"),
        ({"controller": {"kind": "servoo"}}, "$.controller"),
        ({"controller": {"use": 3}}, "$.controller"),
        ({"controller": "servo-pid"}, "$.controller"),
        ({"robot": 3}, "$.robot"),
    ],
)
def test_an_editor_underlines_what_ukctrl_would_refuse(change, where):
    table = read(catalog.root() / "scenarios" / "scara-helix.toml")
    (complaint,) = complaints("scenario", {**table, **change})
    assert where in complaint


def test_every_key_is_explained():
    for kind in FORMATS:
        schema = json_schema(kind)
        for name, table in {kind: schema, **schema["$defs"]}.items():
            for key, value in table.get("properties", {}).items():
                assert key == "kind" or value.get("description"), f"{kind}: {name}.{key}"


def test_every_key_of_scenarios_and_cards_is_on_its_page():
    pages = Path(__file__).parents[2] / "docs" / "reference"
    files = [*(pages / "scenarios").glob("*.md"), pages / "sensing.md"]
    text = "".join(file.read_text("utf-8") for file in files)
    paths = {
        *dir(reference),
        "Harmonic",
        "Exciting",
        "Optimised",
        "ukctrl__mechanics__reference__formula_path__Expression",
    }  # paths.md
    paths |= set(dir(effects))  # effects.md
    missing = []
    for kind in ("scenario", "controller"):
        schema = json_schema(kind)
        for name, table in {kind: schema, **schema["$defs"]}.items():
            for key in table.get("properties", {}) if name not in paths else ():
                if not any(f"`{shown}`" in text for shown in (key, f"[{key}]", f"[[{key}]]")):
                    missing.append(f"{name}.{key}")
    assert not missing


def test_a_schema_holds_the_definitions_that_something_in_it_leads_to_and_no_other():
    def leading(*names):
        return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}

    definitions = {"d": leading("a"), "c": leading("b", "d"), "b": leading("c"), "a": {}}
    for names, used in ((("a",), "a"), (("d", "a"), "ad"), (("b",), "abcd"), ((), "")):
        found = _prune_definitions({"title": "t", **leading(*names), "$defs": definitions})
        assert list(found["$defs"]) == list(used)
        assert found == {
            "title": "t", **leading(*names), "$defs": {name: definitions[name] for name in used}
        }  # fmt: skip
