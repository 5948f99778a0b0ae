"""Study file: the options of `sweep`, `compare` and `tune` as keys of a TOML table ``[study]``."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from ukctrl.cli.arguments import StudyFolder
from ukctrl.core.errors import InputError, unknown_name

STUDY_COMMANDS = {
    "compare": "cost subject_to over searches ensemble vary front points formats width",
    "sweep": "mismatch design controller keep timeout isolated no_report formats width",
    "tune": "subject_to method ensemble mismatch vary aggregate held_out searches fuzzy formats "
    "width",
}
"""The commands whose scenario may be a study file, each with the parameters that its help leaves to
the file: what is decided once for a study, and not from call to call."""
COMMAND_LINE_ONLY = ("as_json", "cluster", "quiet", "resume", "trust")
"""What is said of one call, by whoever makes it: a file cannot ask that its code be trusted, nor
that its work go to a scheduler, whose answers are pickles."""


def with_study_file(command: Callable[..., None], of_file: str) -> Callable[..., None]:
    """Return a command whose scenario may be a study file; options that are given come first.

    Args:
        command: The command.
        of_file: Parameters that its help leaves to the file.
    """
    hints = get_type_hints(command, include_extras=True)
    for name in of_file.split():
        kind, info = get_args(hints[name])
        hints[name] = Annotated[kind, copy.copy(info)]  # several commands share it
        get_args(hints[name])[1].hidden = True
    signature = inspect.signature(command)
    names = {
        _key(hints[name]): name for name in signature.parameters if name not in COMMAND_LINE_ONLY
    }
    keys = ", ".join(sorted(_key(hints[name]) for name in of_file.split()))

    def take_study(context: typer.Context, scenario: str) -> str:
        table = {} if context.resilient_parsing else _read_study(scenario)
        for key in table:
            if key not in names:
                raise unknown_name("key of [study]", key, names, limit=40)
        context.default_map = {
            names[key]: _converted(key, value, get_args(hints[names[key]])[0])
            for key, value in table.items()
        }
        return str(table.get("scenario", scenario))

    kind, info = get_args(hints["scenario"])
    hints["scenario"] = Annotated[kind, copy.copy(info)]
    argument = get_args(hints["scenario"])[1]
    # before the options, each of which then treats a value of the file as one that is typed
    argument.callback, argument.is_eager = take_study, True

    @functools.wraps(command)
    def run(**values: Any) -> None:
        command(**values)

    run.__doc__ = f"""{inspect.getdoc(command)}

    SCENARIO may be a study file: a table \\[study] with `scenario` and the options as keys, among
    them {keys}.
    """
    parameters = [p.replace(annotation=hints[p.name]) for p in signature.parameters.values()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = hints
    return run


def _key(hint: Any) -> str:
    """Return the key of a parameter: the long name of its option."""
    _, info = get_args(hint)
    # typer has the first name of an annotated option where other options have their default
    declared = [info.default, *(info.param_decls or ())]
    names = [name.lstrip("-") for name in declared if isinstance(name, str)]
    return max(names, key=len, default="scenario")


def _read_study(name: str) -> dict[str, Any]:
    """Return the table of a study file; nothing where the name is another file's, or none's.

    Raises:
        InputError: There are other tables beside it, or it names no scenario.
    """
    from ukctrl.core.files.toml import read_toml

    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        return {}
    data = read_toml(path)
    study = data.get("study")
    if study is None:
        return {}
    if not isinstance(study, dict) or len(data) > 1:
        raise InputError(f"{name}: a study file must have one table, [study], and nothing else.")
    scenario = study.get("scenario")
    if not isinstance(scenario, str):
        raise InputError(f'{name}: [study] must name its scenario: scenario = "task.toml".')
    beside = path.parent / scenario
    return {**study, "scenario": str(beside) if beside.is_file() else scenario}


def _converted(key: str, value: Any, kind: Any) -> Any:
    """Return a value of the file as the option gives it.

    Raises:
        InputError: It is of another type.
    """
    kinds = [one for one in get_args(kind) or (kind,) if one is not type(None)]
    wanted = kinds[0]
    texts = value if isinstance(value, list) else [value]
    if wanted is bool or isinstance(value, bool):
        ok, result = wanted is bool and isinstance(value, bool), value
    elif wanted in (int, float):
        ok, result = isinstance(value, int | float), value
        ok = ok and (wanted is float or isinstance(value, int))
    else:  # such as levels 0, 0.1, 0.2, which an option has between commas
        ok = all(isinstance(text, str | int | float) for text in texts)
        words = [str(text) for text in texts]
        result = (
            words
            if wanted == list[str]
            else StudyFolder(words[0])
            if wanted is Path
            else ",".join(words)
        )
    if not ok:
        name = {bool: "true or false", int: "a whole number", float: "a number"}
        raise InputError(f"[study] {key} must be {name.get(wanted, 'text')}; got {value!r}.")
    return result
