"""The parameters of the commands: under which head the help has each, and what a Tab gives there.

They are told here by the parameters' names, and not beside each, so that the same name is
completed in the same way by every command.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from ukctrl.cli.completion import names
from ukctrl.cli.completion.names import Completion, choices

OUTPUT = "Output"
BROWSER = "In the browser"
PANELS: dict[str, dict[str, str]] = {
    "analyze": {"Design": "settling damping card keep"},
    "check": {"Reach": "reach over"},
    "compare": {
        "How often": "repeats mismatch vary jobs cluster",
        "Tuning before": "tune cost subject_to searches ensemble",
        "Fronts": "front points",
        "Both": "over",
    },
    "learn": {"How it learns": "trials gain cutoff lead"},
    "run": {BROWSER: "watched no_open port host"},
    "sweep": {
        "What varies": "vary points design seed repeats",
        "How it runs": "jobs cluster resume timeout isolated",
        OUTPUT: "keep no_report",
    },
    "tune": {
        "What is searched for": "over cost subject_to simulations method fuzzy",
        "On which plants": "ensemble mismatch vary aggregate held_out searches",
        "How it runs": "jobs cluster resume",
    },
    "view": {
        BROWSER: "no_open port host",
        "As a film or picture": "record fps size camera speed strip",
    },
}
"""The heads of the longer commands, with the parameters below each."""
OUTPUTS = "out formats width as_json quiet"
"""Parameters that every command has under `OUTPUT`."""

COMPLETED: dict[str, Completion] = {
    "aggregate": choices("average", "worst"),
    "at": choices("start", "equilibrium", "t="),
    "camera": choices("front", "side", "top", "iso"),
    "card": names.anywhere,
    "changes": names.settings,
    "controller": names.cards,
    "controllers": names.entries,
    "cost": names.metrics,
    "design": choices("grid", "random", "sobol", "saltelli"),
    "directory": names.folders,
    "folder": names.folders,
    "front": names.metrics,
    "formats": choices("png", "pdf", "svg"),
    "kind": choices("scenario", "controller", "robot"),
    "method": choices("simplex", "evolution", "cma"),
    "on": names.scenarios,
    "out": names.folders,
    "over": names.paths,
    "paper": choices("scara", "pseudoinverses", "review", "servo", "recursive"),
    "record": names.anywhere,
    "require": names.metrics,
    "scenario": names.scenarios,
    "shell": choices("bash", "zsh", "fish"),
    "subject_to": names.metrics,
    "target": names.viewed,
    "vary": names.paths,
    "width": choices("column", "page"),
}
"""What a Tab gives for each parameter, by its name; nothing for the others."""
OF_COMMAND: dict[str, dict[str, Completion]] = {
    "check": {"scenario": names.checked, "over": choices("x=", "y=", "z=")},
    "list": {
        "what": choices("robots", "controllers", "scenarios", "parts", "zoo"),
        "words": names.kinds,
    },
    "sweep": {"keep": choices("none", "failed", "all", "worst:")},
}
"""The same, where it is another in one command."""


def arranged(name: str, command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters have their heads, their completions and plain help.

    In a help text Rich takes what stands in brackets, such as a unit, for a style, and drops it.
    """
    panels = dict.fromkeys(OUTPUTS.split(), OUTPUT)
    for panel, keys in PANELS.get(name, {}).items():
        panels |= dict.fromkeys(keys.split(), panel)
    completed = {**COMPLETED, **OF_COMMAND.get(name, {})}
    hints = get_type_hints(command, include_extras=True)
    for key, hint in hints.items():
        if get_origin(hint) is not Annotated:
            continue  # the context, and what is returned
        kind, given = get_args(hint)
        info: Any = copy.copy(given)  # several commands share it
        info.rich_help_panel, info.autocompletion = panels.get(key), completed.get(key)
        info.help = info.help and info.help.replace("[", r"\[")
        hints[key] = Annotated[kind, info]
    command.__annotations__ = hints
    return command
