"""Schema of ``[linkage]``: a planar linkage as its bodies and joints, in maximal coordinates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import Index, NonNegative, Number, Positive, Text, spec
from ukctrl.core.files.toml import error_context, read_spec
from ukctrl.robot.motor_limits import MotorLimits

GROUND = "ground"
"""What joints call the body that does not move."""
MAX_PARTS = 2000
"""More bodies than this are a typing error."""

_NUMBERED = re.compile(r"\{i(?:([+-])(\d{1,6}))?\}")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Point = tuple[Number, Number]
"""Coordinates in the plane [m]."""


@spec
class LinkageBody:
    """One rigid body. Its coordinates are ``<name>_x``, ``<name>_y`` and ``<name>_angle``."""

    name: Text
    """Its name; ``ground`` is taken."""
    mass: Positive
    """[kg]."""
    inertia: Positive
    """About the centre of mass [kg m^2]."""
    points: dict[str, Point] = Field(default_factory=dict)
    """Where joints, springs and plots may take hold, in its axes from the centre of mass [m]."""
    at: tuple[Number, Number, Number] = (0.0, 0.0, 0.0)
    """Centre of mass and angle where a start says nothing else [m, m, rad]."""


@spec
class Revolute:
    """A hinge: two points coincide."""

    kind: Literal["revolute"] = "revolute"
    points: tuple[Text, Text]
    """The two points, each ``<body>.<point>``; one may be of the ground."""
    name: Text = ""
    """Name of its rows; absent: made of the points."""


@spec
class Prismatic:
    """A slide: a point stays on a line of the other body, and the two do not turn."""

    kind: Literal["prismatic"] = "prismatic"
    points: tuple[Text, Text]
    """A point of the body that slides, and a point of the line, each ``<body>.<point>``."""
    direction: Number = 0.0
    """Direction of the line, from the x axis of the body that carries it [rad]."""
    angle: Number = 0.0
    """Angle of the first body in the second [rad]."""
    name: Text = ""
    """Name of its rows; absent: made of the points."""


AnyJoint = Annotated[Revolute | Prismatic, Field(discriminator="kind")]


@spec
class LinkageMotor(MotorLimits):
    """A motor that turns the second body against the first."""

    name: Text
    """Name of the input."""
    bodies: tuple[Text, Text]
    """The two bodies; ``ground`` may be the first."""
    rotor_inertia: NonNegative = 0.0
    """Inertia of a rotor that turns with the second body [kg m^2]."""


@spec
class RepeatedModule:
    """Parts that come several times. ``{i}`` in any text stands for 0, 1, ... ``count - 1``.

    ``{i+1}`` and ``{i-1}`` stand for the next number and the one before.
    """

    count: Index
    """How many times."""
    ground: dict[str, Any] = Field(default_factory=dict)
    """Points of the ground."""
    body: tuple[dict[str, Any], ...] = ()
    """Bodies, as in the linkage itself."""
    joint: tuple[dict[str, Any], ...] = ()
    """Joints, as in the linkage itself."""
    motor: tuple[dict[str, Any], ...] = ()
    """Motors, as in the linkage itself."""


@spec
class Linkage:
    """A planar linkage in maximal coordinates: every body moves freely until joints hold it."""

    plane: Literal["xy", "xz"] = "xy"
    """Plane of motion in the world; in ``xz`` gravity acts along the linkage's y axis."""
    ground: dict[str, Point] = Field(default_factory=dict)
    """Points of the ground [m]."""
    body: tuple[LinkageBody, ...] = ()
    """The bodies."""
    joint: tuple[AnyJoint, ...] = ()
    """The joints."""
    motor: tuple[LinkageMotor, ...] = ()
    """The motors; without any, the linkage moves by itself."""
    repeat: dict[str, RepeatedModule] = Field(default_factory=dict)
    """Modules that come several times, by name."""

    def expanded(self) -> Linkage:
        """Return the linkage with its repeated modules written out, and checked as a whole.

        Raises:
            InputError: A part has the name of another, or a joint or motor leads nowhere.
        """
        ground: dict[str, Any] = dict(self.ground)
        members = {kind: list(getattr(self, kind)) for kind in ("body", "joint", "motor")}
        for name, module in self.repeat.items():
            if module.count * max(1, len(module.body)) > MAX_PARTS:
                raise InputError(
                    f"repeat.{name}.count must leave at most {MAX_PARTS} bodies; "
                    f"got {module.count} times {max(1, len(module.body))}."
                )
            for i in range(module.count):
                tables = {key: getattr(module, key) for key in ("ground", *members)}
                copy = read_spec(Linkage, _numbered(tables, i), f"repeat.{name}, i = {i}")
                _refuse_twice("ground point", [*ground, *copy.ground])
                ground.update(copy.ground)
                for kind, entries in members.items():
                    entries.extend(getattr(copy, kind))
        whole = Linkage(
            plane=self.plane,
            ground=ground,
            body=tuple(members["body"]),
            joint=tuple(members["joint"]),
            motor=tuple(members["motor"]),
        )
        _check(whole)
        return whole


def _numbered(value: Any, i: int) -> Any:
    """Return a table with ``{i}``, ``{i+1}``, ... in its texts and names replaced."""
    if isinstance(value, str):

        def number(match: re.Match[str]) -> str:
            shift = int(match[2] or 0)
            return str(i - shift if match[1] == "-" else i + shift)

        return _NUMBERED.sub(number, value)
    if isinstance(value, Mapping):
        return {_numbered(str(key), i): _numbered(item, i) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_numbered(item, i) for item in value)
    return value


def place(linkage: Linkage, point: str) -> tuple[str, Point]:
    """Return the body and the place of ``<body>.<point>``.

    Raises:
        UnknownName: There is no such body, or no such point on it.
        InputError: The text is not of this form.
    """
    body, dot, name = point.partition(".")
    if not dot:
        raise InputError(
            f"a point must be written '<body>.<point>', such as 'ground.A'; got '{point}'."
        )
    points = {GROUND: linkage.ground} | {entry.name: entry.points for entry in linkage.body}
    if body not in points:
        raise unknown_name("body", body, points)
    if name not in points[body]:
        raise unknown_name(f"point (of '{body}')", name, points[body])
    return body, points[body][name]


def _check(linkage: Linkage) -> None:
    """Refuse names that are taken twice, and joints and motors that lead nowhere."""
    if not linkage.body:
        raise InputError("body: a linkage must have at least one body.")
    names = [body.name for body in linkage.body]
    if GROUND in names:
        raise InputError(f"body[{names.index(GROUND)}].name: 'ground' is the body that rests.")
    _refuse_twice("body", names)
    for where, name in itertools.chain(
        ((f"body[{number}].name", name) for number, name in enumerate(names)), _points(linkage)
    ):
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{where}: must be letters from a to z, digits and underscores; got '{name}'."
            )
    for number, joint in enumerate(linkage.joint):
        with error_context(f"joint[{number}]"):
            first, second = (place(linkage, point)[0] for point in joint.points)
            if first == second:
                raise InputError(
                    f"must join two bodies; both '{joint.points[0]}' and '{joint.points[1]}' are "
                    f"points of '{first}'."
                )
    for number, motor in enumerate(linkage.motor):
        with error_context(f"motor[{number}]"):
            for body in motor.bodies:
                if body not in (GROUND, *names):
                    raise unknown_name("body", body, (GROUND, *names))
            if motor.bodies[0] == motor.bodies[1] or motor.bodies[1] == GROUND:
                raise InputError(
                    f"must turn a second body against a first; got '{motor.bodies[0]}' and "
                    f"'{motor.bodies[1]}'."
                )
    _refuse_twice("motor", [motor.name for motor in linkage.motor])


def _points(linkage: Linkage) -> Iterator[tuple[str, str]]:
    for name in linkage.ground:
        yield "ground", name
    for number, body in enumerate(linkage.body):
        for name in body.points:
            yield f"body[{number}].points", name


def _refuse_twice(noun: str, names: list[str]) -> None:
    used_names: set[str] = set()
    for name in names:
        if name in used_names:
            raise InputError(f"every {noun} must have a name of its own; '{name}' comes twice.")
        used_names.add(name)
