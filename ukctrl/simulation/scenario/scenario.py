"""A scenario: the tables put together, what they must not say together, and the way back to one."""

from __future__ import annotations

import copy
import dataclasses as dc
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, final

from pydantic import BeforeValidator, model_validator

from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.any_controller import AnyController
from ukctrl.control.controller import Controller, NoControl
from ukctrl.control.disturbance.disturbance_observer import DisturbanceObserver
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.control.function_controller import as_controller
from ukctrl.control.safety import AnyKeep, Inequality
from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.entry_points import PACKAGES
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Index, Instance, spec
from ukctrl.core.files import AnyPath, catalog
from ukctrl.core.files.table_paths import Table
from ukctrl.core.files.toml import parse_toml, read_spec, read_toml
from ukctrl.core.kind_registry import kind_of
from ukctrl.core.notebook_repr import NotebookRepr
from ukctrl.core.python_function import PythonFunction
from ukctrl.mechanics.constraints import AnyConstraint, Constraint
from ukctrl.robot import Robot
from ukctrl.simulation.effects import AnyEffect, Effect
from ukctrl.simulation.effects.attached_effects import refuse_contradictions
from ukctrl.simulation.observers import AnyObserver, Observer, Sensing
from ukctrl.simulation.scenario.resolve_table import resolve_card, resolve_table
from ukctrl.simulation.scenario.scenario_tables import (
    BelievedRobot,
    IntegratorOptions,
    Monitor,
    RobotChoice,
    Stabilisation,
    StartState,
    Timing,
)

PARTS = (
    Controller,
    Feedback,
    Allocation,
    DisturbanceObserver,
    Constraint,
    Inequality,
    Effect,
    Observer,
)
"""What a user's own Python file may define."""


def table_of(scenario: object, objects: bool = False) -> Table:
    """Return the table of a scenario; ``objects`` keeps what only Python can hold."""
    table: Table = _plain(scenario, objects)
    return table


def _plain(value: Any, objects: bool) -> Any:
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Robot):
        if objects:
            return value
        where = str(value.path or f"{value.name} (made in Python)")
        return {"use": where, **_plain(value.override, objects)} if value.override else where
    # what has no kind, a class of a user or a function, is named by its code, below
    no_kind = isinstance(value, PARTS) and kind_of(type(value)) is None
    ours = type(value).__module__.partition(".")[0] in PACKAGES and not no_kind
    if dc.is_dataclass(value) and ours:
        fields = {f.name: _plain(getattr(value, f.name), objects) for f in dc.fields(value)}
        return {key: item for key, item in fields.items() if item is not None}
    if isinstance(value, PARTS):
        return value if objects else _code_of(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, objects) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, objects) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value if objects else repr(value)


def _code_of(component: Any) -> Table:
    """Return the table that names a user's own class and its fields, or a function."""
    fields = dc.fields(component) if dc.is_dataclass(component) else ()
    for field in fields:
        if isinstance(function := getattr(component, field.name), PythonFunction):
            return {"kind": repr(function)}
    file = inspect.getsourcefile(type(component))
    gains = {f.name: _plain(getattr(component, f.name), False) for f in fields}
    gains = {key: item for key, item in gains.items() if item is not None}
    return {**gains, "kind": f"{file}:{type(component).__name__}"}


def _controller_argument(value: Any) -> Any:
    if isinstance(value, str | Path):
        return resolve_card({"use": str(value)}, Path.cwd() / "scenario.toml", "Scenario")
    return as_controller(value)


def _believed_argument(value: Any) -> Any:
    return {"robot": value} if isinstance(value, str) else value


MAX_STEPS = 1e12
"""More steps than this would never end, or would not even move the clock."""


@final
@spec
class Scenario(NotebookRepr):
    """One experiment: robot, task, controller, timing. Equal scenarios give identical numbers.

    In a notebook it shows itself: what it says, without what is left at its default.
    """

    repr_module: ClassVar[str] = "ukctrl.reports.notebook_card"

    title: str
    """What the run shows, in a line."""
    robot: RobotChoice | Annotated[Robot, Instance()]
    """Name or path of a robot; or a table, in which ``use`` names it and other keys override its
    file's: ``{ use = "scara", gravity = [0, 0, 0] }``."""
    servo: tuple[AnyConstraint | Annotated[Constraint, Instance()], ...] = ()
    """The constraints that the controller must enforce; none in a run without control."""
    keep: tuple[AnyKeep | Annotated[Inequality, Instance()], ...] = ()
    """What shall stay at or above zero, whatever the controller asks for."""
    controller: Annotated[
        AnyController | Annotated[Controller, Instance()], BeforeValidator(_controller_argument)
    ] = NoControl()
    """The controller; in a file ``use`` names a card, and other keys override it. In Python also
    the name of a card, or a function ``f(t, q, v)`` that returns the inputs. Absent, where there
    are no servo constraints: no control."""
    timing: Timing
    """How long, how often."""
    name: str = ""
    """Short name; absent: the file's."""
    source: str = ""
    """Where the experiment comes from."""
    start: StartState = StartState()
    """Where it starts."""
    integrator: IntegratorOptions = IntegratorOptions()
    """How the motion is integrated."""
    believed: Annotated[BelievedRobot | None, BeforeValidator(_believed_argument)] = None
    """What the controller believes, or the name or path of the robot that it believes; absent: the
    truth, before any effect."""
    effect: tuple[AnyEffect | Annotated[Effect, Instance()], ...] = ()
    """What stands between the ideal loop and the bench, in the order in which it acts."""
    sensing: Sensing | None = None
    """What an observer gets of the robot; absent: all positions."""
    observer: AnyObserver | Annotated[Observer, Instance()] | None = None
    """What estimates the state for the controller at its ticks; absent: it gets what is
    measured."""
    monitor: Monitor = Monitor()
    """When to stop early."""
    stabilisation: Stabilisation = Stabilisation()
    """What keeps the robot's passive constraints from drifting apart."""
    rank: RankPolicy = RUN_RANK
    """When rows count as dependent or missed."""
    seed: Index = 0
    """Seed of everything random."""

    @model_validator(mode="after")
    def _some_task(self) -> Self:
        if self.servo and not self.controller.acts:
            raise InputError(
                "controller: is missing. Name one that enforces the servo constraints, such as "
                "{ use = 'servo-baumgarte' }, or leave them out for motion without control."
            )
        if self.controller.needs_servo and not self.servo:
            raise InputError(
                "servo must have at least one constraint; got none. For motion without control, "
                "leave out the controller too."
            )
        for number, constraint in enumerate(self.servo):
            if getattr(constraint, "mu", None) is not None:
                raise InputError(
                    f"servo[{number}].mu is of a passive contact, whose ground pushes; what motors "
                    "must keep holds both ways. Leave mu out, or move it to the robot's passive."
                )
        names = [constraint.name for constraint in self.servo if constraint.name]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise InputError(
                f"servo blocks must have names of their own; '{repeated[0]}' names "
                f"{names.count(repeated[0])} of them."
            )
        if self.stabilisation.kind == "projection" and self.integrator.method in ("BDF", "LSODA"):
            raise InputError(
                f'stabilisation.kind = "projection" needs a method that starts each step afresh; '
                f"'{self.integrator.method}' goes by the history of past states, which projection "
                "would contradict. Use DOP853, RK45, Radau or a fixed-step method."
            )
        if self.sensing is not None and self.observer is None:
            raise InputError(
                "sensing needs an observer, which estimates what it leaves out; give one, such as "
                "observer = { kind = 'ekf', acceleration_std = 1.0 }."
            )
        if self.observer is not None and self.timing.control is None:
            raise InputError(
                "observer estimates at the ticks of a sampled controller, and this one has none; "
                "give timing.control, such as control = 1e-3, or remove the observer."
            )
        refuse_contradictions(self.effect, sampled=self.timing.control is not None)
        step = self.integrator.step
        if step is not None and self.timing.duration / step > MAX_STEPS:
            raise InputError(
                f"integrator.step must be at least {self.timing.duration / MAX_STEPS:.1e} s; "
                f"got {step:g} s."
            )
        return self

    @staticmethod
    @explain_argument_errors
    def load(
        reference: AnyPath, changes: Mapping[str, object] | None = None, *, trust: bool = False
    ) -> Scenario:
        """Read a scenario by name or path.

        Args:
            reference: A name in the catalogue or the workspace, or a path.
            changes: Values to change, by their path: ``{"controller.feedback.alpha": 5.0}``.
            trust: Whether Python code that the files name (``"./law.py:MyLaw"``) may run.

        Raises:
            InputError: The file, or a file it names, is not acceptable.
        """
        path = catalog.find("scenarios", reference).resolve()
        return _scenario_from(read_toml(path), changes or {}, path, str(reference), trust)

    @staticmethod
    @explain_argument_errors
    def from_toml(text: str, *, base: AnyPath | None = None, trust: bool = False) -> Scenario:
        """Read a scenario from TOML text; relative file names start at ``base``.

        ``trust`` is that of `load`.
        """
        label, path = "scenario", Path(base or Path.cwd()) / "scenario.toml"
        return _scenario_from(parse_toml(text, label), {}, path, label, trust)

    @explain_argument_errors
    def replace(
        self, changes: Mapping[str, object], *, beside: AnyPath | None = None, trust: bool = False
    ) -> Scenario:
        """Return a copy with values changed by their path, checked anew.

        Args:
            changes: Values by path, as for `load`.
            beside: File that names among the changes are relative to; absent: the catalogue
                and the working folder.
            trust: As for `load`.

        Raises:
            InputError: The result is no scenario.
        """
        # a sweep over seeds would check the same tables at every sample; True is an int, no seed
        if set(changes) == {"seed"} and type(changes["seed"]) is int and changes["seed"] >= 0:
            # nothing else depends on the seed
            clone = copy.copy(self)
            object.__setattr__(clone, "seed", changes["seed"])
            return clone
        path = Path(beside or Path.cwd() / "scenario.toml")
        reached = {key.partition(".")[0] for key in changes}
        table = {field.name: getattr(self, field.name) for field in dc.fields(self)}
        # a part that no change reaches stays this very object, and need not be read again
        for name, value in table.items():
            table[name] = _plain(value, True) if name in reached else value
        settings = {name: value for name, value in table.items() if value is not None}
        return _scenario_from(settings, changes, path, "scenario", trust)

    def to_table(self) -> dict[str, Any]:
        """Return the scenario as the table that its TOML file would hold, fully resolved."""
        return table_of(self)

    def to_toml(self) -> str:
        """Return the scenario as TOML text."""
        import tomli_w

        return tomli_w.dumps(self.to_table())


def _scenario_from(
    table: Table, changes: Mapping[str, object], path: Path, label: str, trust: bool
) -> Scenario:
    whole = resolve_table(table, changes, path, label, trust)
    return read_spec(Scenario, whole, path, label=label)
