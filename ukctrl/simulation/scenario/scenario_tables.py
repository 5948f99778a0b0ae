"""The tables of a scenario: start, timing, integration, belief, and what is watched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import PlainValidator, WithJsonSchema, model_validator

from ukctrl.core.arguments import by_name
from ukctrl.core.errors import InputError
from ukctrl.core.fields import (
    NonNegative,
    Positive,
    Quantity,
    Rate,
    RateSquared,
    Seconds,
    Text,
    Time,
    spec,
)
from ukctrl.core.files.toml import error_context
from ukctrl.core.message_text import literal_text
from ukctrl.robot import Perturbation


def _state(value: object) -> object:
    value = by_name(value)
    if isinstance(value, Mapping):
        return {str(name): _entry(str(name), item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_entry(f"number {index}", item) for index, item in enumerate(value))
    raise InputError(f"must be a list, or a table by coordinate; got {literal_text(value)}.")


def _entry(name: str, value: object) -> float | str:
    with error_context(name):
        number = Quantity().read(value)
    return value if isinstance(value, str) else number


State = Annotated[
    dict[str, float | str] | tuple[float | str, ...],
    PlainValidator(_state),
    WithJsonSchema({"type": ["object", "array"]}),
]
"""One number a coordinate: a list in the robot's order, or a table by name.

Text such as ``"30*deg"`` is kept until the robot says which unit the coordinate has.
"""


def _robot_choice(value: object) -> str | dict[str, Any]:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("use"), str):
        return {str(key): item for key, item in value.items()}
    raise InputError(
        "must be the name of a robot, or a table that names one, such as { use = 'scara' }; "
        f"got {literal_text(value)}."
    )


RobotChoice = Annotated[
    str | dict[str, Any],
    PlainValidator(_robot_choice),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"use": {"type": "string"}}, "required": ["use"]},
            ]
        }
    ),
]
"""Name or path of a robot; or a table in which ``use`` names it, and other keys override its
file's."""
MAX_PERIODS = 10_000_000
"""More samples or control periods than this are a typing error."""


@spec
class StartState:
    """Start state of a run."""

    keyframe: Text | None = None
    """State that the robot's MJCF file has a name for; what `q` and `v` leave out is as there."""
    q: State = ()
    """Configuration [rad, m]; coordinates left out of a table are at the robot's home."""
    v: State = ()
    """Velocity [rad/s, m/s]; left out: at rest."""
    t: Time = 0.0
    """Time of the start [s]."""
    spread: NonNegative = 0.0
    """Move every degree of freedom by a random amount up to this first, drawn with the scenario's
    seed [rad, m]."""
    solve: bool = False
    """Move this state onto the constraints first, by the smallest change."""
    hold: tuple[Text, ...] = ()
    """Joints that ``solve`` leaves where they are, with their velocity; the others must yield."""
    planned: bool = False
    """Start on the motion that the controller works out before the run; the state given here is
    where that work begins."""
    springs: Literal["relaxed", "loaded"] = "relaxed"
    """Where motors of elastic joints are that the start leaves out: at their joints, or ahead by
    what carries the load at rest."""

    @model_validator(mode="after")
    def _hold_is_for_solve(self) -> Self:
        if self.hold and not self.solve:
            raise InputError("hold needs solve = true; nothing is moved without it.")
        return self

    @model_validator(mode="after")
    def _planned_says_all(self) -> Self:
        if self.planned and (self.solve or self.spread):
            conflict = "solve = true" if self.solve else "spread"
            raise InputError(
                f"planned = true takes the state from the controller's motion; remove {conflict}."
            )
        return self


@spec
class Timing:
    """Duration of a run, sampling interval and control period."""

    duration: Seconds
    """Length of the run [s]."""
    sample: Seconds = 0.01
    """Interval of the recorded samples [s]."""
    control: Seconds | None = None
    """Period of a zero-order hold [s]; absent: continuous control."""

    @model_validator(mode="after")
    def _some_periods(self) -> Self:
        if self.control is not None and self.control > self.duration:
            raise InputError(
                f"control must be at most the duration, {self.duration:g} s; "
                f"got {self.control:g} s."
            )
        for name, period in (("sample", self.sample), ("control", self.control)):
            if period is not None and self.duration / period > MAX_PERIODS:
                raise InputError(
                    f"{name} must be at least {self.duration / MAX_PERIODS:.1e} s, so that the "
                    f"duration has at most {MAX_PERIODS} of them; got {period:g} s."
                )
        return self


AdaptiveMethod = Literal["DOP853", "RK45", "Radau", "BDF", "LSODA"]
FixedMethod = Literal["RK4", "semi_implicit_euler"]


@spec
class IntegratorOptions:
    """Integration method and its options."""

    method: AdaptiveMethod | FixedMethod = "DOP853"
    """Adaptive: DOP853 and RK45 (compiled), Radau, BDF and LSODA (SciPy); or of fixed steps on the
    manifold: RK4 and semi_implicit_euler."""
    rtol: Positive | None = None
    """Relative tolerance of an adaptive method; absent: 1e-9."""
    atol: Positive | None = None
    """Absolute tolerance of an adaptive method; absent: 1e-11."""
    max_step: Seconds | None = None
    """Longest step of an adaptive method [s]; absent: ten output intervals, at most 1/50 of the
    run. Shorten it where something brief happens to a robot at rest."""
    step: Seconds | None = None
    """Longest step of a fixed-step method [s], required there; steps end on every output time."""

    @model_validator(mode="after")
    def _options_fit_method(self) -> Self:
        fixed = self.method in get_args(FixedMethod)
        if fixed and self.step is None:
            raise InputError(f"method '{self.method}' needs a step; give one, such as step = 1e-3.")
        wrong = ("rtol", "atol", "max_step") if fixed else ("step",)
        for name in wrong:
            if getattr(self, name) is not None:
                raise InputError(f"method '{self.method}' has no {name}; remove it.")
        return self


@spec
class Stabilisation:
    r"""Stabilisation of passive constraints, which would drift apart.

    | kind | what it does |
    |---|---|
    | ``baumgarte`` | lets errors decay: $\ddot\varphi + \alpha\dot\varphi + \beta\varphi = 0$ |
    | ``projection`` | moves (q, v) onto the constraints after every step, by the smallest change |
    | ``none`` | nothing |

    A change of the state is measured by the mass matrix, $\delta^\top M \delta$, so that it
    does not depend on the units of the coordinates.
    """

    kind: Literal["baumgarte", "projection", "none"] = "baumgarte"
    """What is done."""
    rate: Rate | None = None
    r"""Rate $w$ of a critically damped decay, $\alpha = 2w$ and $\beta = w^2$ [1/s]; absent: chosen
    from the step or the tolerance."""
    alpha: Rate | None = None
    """Gain on the velocity error [1/s]; given together with ``beta``, instead of ``rate``."""
    beta: RateSquared | None = None
    """Gain on the position error [1/s^2]."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        keys = [name for name in ("rate", "alpha", "beta") if getattr(self, name) is not None]
        if self.kind != "baumgarte" and keys:
            raise InputError(
                f'kind = "{self.kind}" has no {keys[0]}; remove it, or use kind = "baumgarte".'
            )
        if keys not in ([], ["rate"], ["alpha", "beta"]):
            raise InputError(
                f"give either rate, or alpha and beta, or none of them; got {' and '.join(keys)}."
            )
        return self


@spec
class BelievedRobot(Perturbation):
    """The robot that the controller believes in, as it differs from the true one."""

    robot: RobotChoice | None = None
    """Another robot altogether, as in a scenario; absent: the true one, changed as stated."""


@spec
class Monitor:
    """Monitor: limits that end a run as ``drifted``, and the error of the joints."""

    max_phi: Positive | None = None
    """Largest servo error, in norm; absent: any."""
    max_passive_phi: Positive = 1e-3
    """Largest error of a passive constraint, in norm."""
    max_passive_beta: Positive = 1e-2
    """Largest velocity error of a passive constraint, in norm."""
    joint_error: bool = False
    """Also record how far the joints are from where the servo constraints would have them."""
    frames: tuple[Text, ...] = ()
    """Frames whose path is recorded beside those that servo constraints hold."""
