"""TOML to specifications: the one line that a wrong file gets."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field
from pydantic.dataclasses import dataclass

from ukctrl.core.errors import InputError
from ukctrl.core.fields import STRICT, InputFile, Number, Positive
from ukctrl.core.files.toml import error_context, parse_toml, read_spec, read_toml


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Round:
    kind: Literal["round"] = "round"
    radius: Positive


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Square:
    kind: Literal["square"] = "square"
    side: Positive
    radius: Number = 0.0


Shape = Annotated[Round | Square, Field(discriminator="kind")]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Drawing:
    title: str
    shape: tuple[Shape, ...] = ()
    frame: Shape | None = None
    weights: dict[str, Positive] = Field(default_factory=dict)
    order: Literal[0, 1] = 0
    picture: InputFile | None = None


GOOD = {"title": "a", "shape": [{"kind": "round", "radius": "2*pi"}]}


def complaint(table):
    with pytest.raises(InputError) as caught:
        read_spec(Drawing, table, "drawing.toml")
    line = str(caught.value)
    assert "\n" not in line
    return line.removeprefix("drawing.toml: ")


def test_a_good_table_becomes_a_specification():
    drawing = read_spec(Drawing, GOOD, "drawing.toml")
    assert drawing.shape[0] == Round(radius=6.283185307179586)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"titel": "b"}, "titel: unknown key; did you mean 'title'?"),
        ({"title": None}, "title: "),
        ({"shape": [{"kind": "round"}]}, "shape[0].radius: is missing."),
        ({"shape": [{"kind": "round", "radius": -1}]}, "shape[0].radius: must be positive; got"),
        ({"shape": [{"kind": "square", "side": 1, "raduis": 1}]},
         "shape[0].raduis: unknown key; did you mean 'radius'? Known: side, radius."),
        ({"shape": [{"kind": "ruond"}]},
         "shape[0]: kind must be one of round, square; got 'ruond'; did you mean 'round'?"),
        ({"shape": [{"radius": 1}]}, "shape[0]: needs kind"),
        ({"shape": [7]}, "shape[0]: "),
        ({"shape": 7}, "shape: "),
        ({"shape": {"side": 1}}, "shape: must be a list; got a table. Write [[shape]] where"),
        ({"shape": {"0": {"side": 1}}},
         "shape: has no entry 0 to be changed here. List all of them, as [[shape]], first."),
        ({"frame": {"kind": "square", "side": 0}}, "frame.side: must be positive; got 0"),
        ({"order": 2}, "order: must be one of 0, 1; got 2."),
        ({"weights": {"a": 1, "b": "x"}}, "weights.b: "),
        ({"picture": "no.png"}, "picture: must be a file that exists"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_one_line(change, line):
    assert complaint({**GOOD, **change}).startswith(line)


def test_an_unknown_key_goes_before_the_missing_one_that_it_causes():
    line = complaint({"titel": "a", "shape": [{"kind": "round"}]})
    assert line.startswith("titel: unknown key; did you mean 'title'?")


def test_a_relative_file_name_starts_at_the_file_that_names_it(tmp_path):
    (tmp_path / "a.png").touch()
    drawing = read_spec(Drawing, {**GOOD, "picture": "a.png"}, tmp_path / "drawing.toml")
    assert drawing.picture == tmp_path / "a.png"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ", None),
        ("a = 1\na = 2", None),
        ("a = " + "[" * 100_000, "brackets are nested too deeply"),
        ("a = " + "9" * 10_000, "a number or a date is out of range"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_toml_that_cannot_be_read_is_refused_with_where_or_why(text, message):
    """Where there is no `message`, it is Python's own."""
    if message is None:
        with pytest.raises(tomllib.TOMLDecodeError) as own:
            tomllib.loads(text)
        message = str(own.value)
    with pytest.raises(InputError) as caught:
        parse_toml(text, "x.toml")
    assert str(caught.value) == f"x.toml: not valid TOML: {message}."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "not valid TOML"),
        ("a" + ".a" * 100_000 + " = 1", "at most 32 parts"),
        ("[a" + " . a" * 100_000 + "]", "at most 32 parts"),
        ("a = 2020-13-45", "not valid TOML"),
        ("\0", "not valid TOML"),
    ],
    ids=lambda value: value[:20],
)
def test_hostile_toml_ends_quickly_in_one_line(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_toml(text, "x.toml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("x.toml: ")


def test_dots_in_numbers_and_text_are_no_dotted_keys():
    numbers = ", ".join(["0.1"] * 1000)
    assert len(parse_toml(f"a = [{numbers}]\nb = '1.2.3'", "x")["a"]) == 1000


def test_a_file_must_be_an_ordinary_utf8_file(tmp_path):
    (tmp_path / "latin.toml").write_bytes("a = 'ü'".encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_toml(tmp_path / "latin.toml")
    assert str(caught.value).endswith(
        "latin.toml: must be UTF-8 text; byte 5 is not. Save it as UTF-8."
    )
    with pytest.raises(InputError, match="no such file"):
        read_toml(tmp_path)
    (tmp_path / "big.toml").write_bytes(b"#" * (5 * 2**20))
    with pytest.raises(InputError, match="must be at most 4 MB"):
        read_toml(tmp_path / "big.toml")
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert read_toml(tmp_path / "bom.toml") == {"a": 1}


def test_a_file_that_the_system_withholds_is_refused_with_its_words(tmp_path, monkeypatch):
    file = tmp_path / "mine.toml"
    file.touch()

    def withheld(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", withheld)
    with pytest.raises(InputError) as caught:
        read_toml(file)
    assert str(caught.value) == f"{file}: cannot be read: [Errno 13] Permission denied."


def test_blame_keeps_the_type_of_the_error():
    with pytest.raises(InputError, match=r"servo\[1\]: path: wrong\."):  # noqa: SIM117
        with error_context("servo[1]"), error_context("path"):
            raise InputError("wrong.")
