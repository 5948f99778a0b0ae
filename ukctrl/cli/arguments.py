"""From what stands on the command line to scenarios, cards and folders."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ukctrl.core.errors import InputError, UkctrlError, UnknownName
from ukctrl.core.files.output_folders import open_folder, output_root

if TYPE_CHECKING:
    from ukctrl.control.error_dynamics_spec import ErrorSpec
    from ukctrl.simulation.scenario import Scenario
    from ukctrl.studies.batch.mismatch_level import MismatchLevel
    from ukctrl.studies.tuning.gains import Range


def import_command(module: str) -> ModuleType:
    """Import the work of a command from a package beside ``ukctrl`` in the same wheel.

    Raises:
        InputError: The package is not installed.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise InputError(
            f"this command is in the package {package}, which comes with ukctrl and is not "
            "installed; pip install --force-reinstall --no-deps ukctrl."
        ) from error


def load_scenario(
    name: str, controller: str | None, changes: list[str] | None, trust: bool
) -> Scenario:
    """Load a scenario with the changes that options ask for.

    Raises:
        InputError: The files or the options do not fit.
    """
    from ukctrl.core.files import catalog
    from ukctrl.core.files.toml import read_toml

    # A misspelt name or a broken file is told at once, before the slow imports.
    read_toml(catalog.find("scenarios", name))
    if controller is not None and not controller.strip():
        raise InputError("--controller must be the name of a card; got nothing.")
    from ukctrl.core.files.table_paths import parse_settings

    pairs: dict[str, object] = {}
    if controller is not None:
        pairs["controller"] = {"use": resolve_card(controller, name)}
    pairs |= parse_settings("--set", changes or [])
    from ukctrl.simulation.scenario import Scenario

    return Scenario.load(name, pairs, trust=trust)


ALL_GAINS = "gains"
"""What ``--over`` says for gains by themselves, and not the terms from which they follow."""


def parse_ranges(over: list[str] | None) -> dict[str, Range]:
    """Return the ranges of gains that ``--over`` options give, by their paths; of ``gains``, none.

    Raises:
        InputError: One of them is no range, or a gain has two.
    """
    from ukctrl.studies.tuning import read_range

    ranges: dict[str, Range] = {}
    for path, ends in map(read_range, (text for text in over or [] if text != ALL_GAINS)):
        if path in ranges:
            raise InputError(f"--over gives '{path}' two ranges.")
        ranges[path] = ends
    return ranges


def parse_terms(values: Mapping[str, Any], option: str) -> ErrorSpec:
    """Return the terms that options ask for.

    Raises:
        InputError: They contradict each other, or one is out of range.
    """
    from ukctrl.control.error_dynamics_spec import ErrorSpec

    try:
        return ErrorSpec(**values)
    except InputError as error:
        raise InputError(f"{option}{str(error).removeprefix('ErrorSpec: ')}") from None


def parse_mismatch(text: str | None) -> list[MismatchLevel]:
    """Return the levels of ``--mismatch``: fractions, and folders of identified robots.

    Raises:
        InputError: One is neither.
    """
    from ukctrl.core.files.table_paths import parse_number

    levels: list[MismatchLevel] = []
    for piece in [] if text is None else [part.strip() for part in text.split(",")]:
        level = parse_number(piece)
        if level is None and not (piece and Path(piece).is_dir()):
            raise InputError(
                "--mismatch must be fractions such as 0,0.1,0.2, or the folder of an identified "
                f"robot; got '{text}'."
            )
        levels.append(piece if level is None else level)
    return levels


def resolve_card(controller: str, scenario: str) -> str:
    """Return the card that an option names.

    A path starts at the working folder; a name is looked up beside the scenario, in the
    catalogue, and in the workspace that one stands in.
    """
    from ukctrl.core.files import catalog

    if controller.endswith(".toml"):
        return str(catalog.find("controllers", Path.cwd() / controller))
    try:
        catalog.find("controllers", controller, catalog.find("scenarios", scenario))
    except UnknownName:
        if controller in catalog.names("controllers"):
            return str(catalog.find("controllers", controller))
    return controller


def is_robot(name: str) -> bool:
    """Return whether an argument names a robot, and no scenario."""
    from ukctrl.core.files import catalog
    from ukctrl.core.files.toml import read_toml

    if catalog.is_collection_name(name):
        return True
    path = Path(name)
    if name.endswith(".toml") and path.is_file():
        return "robot" not in read_toml(path) and bool(
            set(catalog.PLANT_KEYS) & set(read_toml(path))
        )
    if name.endswith(catalog.FILE_ENDINGS):
        return not name.endswith(".toml")
    if "/" in name:
        return (path / "robot.toml").is_file()
    return name not in catalog.names("scenarios") and name in catalog.names("robots")


@contextlib.contextmanager
def prefix_errors(scenario: str) -> Iterator[None]:
    """Begin the messages of what does not fit a scenario with its name."""
    try:
        yield
    except UkctrlError as error:
        raise InputError(f"{scenario}: {str(error).removeprefix('scenario: ')}") from None


class StudyFolder(type(Path())):  # type: ignore[misc]
    """Folder that a study file names: below the working folder, and reached through no link."""


@contextlib.contextmanager
def output_folder(out: Path | None, name: str) -> Iterator[Path]:
    """Yield the folder of a command, and take away again what was made for nothing.

    So that a command that is refused, or stopped before there is anything to keep, leaves none.

    Args:
        out: What ``--out`` names; absent: ``out/NAME`` below the working folder, where both may be
            somebody else's, and so no links.
        name: Of what is written.
    """
    path = Path("out") / name if out is None else Path(out)
    given = Path() if out is None or isinstance(out, StudyFolder) else None
    new_folders = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    try:
        with output_root(make_folder(path, given), given):
            yield path
    finally:
        _remove_empty(new_folders)


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, the innermost first, that hold nothing but empty files and folders."""
    for folder in folders:
        with contextlib.suppress(OSError):
            inside = sorted(folder.rglob("*"), reverse=True)  # what is in a folder before it
            if any(path.is_file() and path.stat().st_size > 0 for path in inside):
                return
            for path in inside:
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()


def make_folder(path: Path, given: Path | None = None) -> Path:
    """Make the folder that ``--out`` names, before the work whose results it is for.

    Args:
        path: The folder.
        given: What somebody has named of it, as for `output_root`.

    Raises:
        InputError: It cannot be made, or nothing can be written to it.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"--out must be a folder; '{path}' is a file.")
    try:
        with open_folder(path, given):
            pass
    except OSError as error:
        raise InputError(f"--out '{path}' cannot be made: {error.strerror}.") from None
    except ValueError as error:  # such as a NUL in the name
        raise InputError(f"--out '{path}' cannot be made: {error}.") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"--out '{path}' must be a folder that you may write to.")
    return path
