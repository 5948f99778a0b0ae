"""A plain function of Python as a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from pydantic import AfterValidator

from ukctrl.control.command import Command
from ukctrl.control.controller import Controller, Law
from ukctrl.control.task import NO_MEMORY, Task
from ukctrl.core.arguments import argument_error, by_name, labels_of
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.fields import spec
from ukctrl.core.message_text import error_text, literal_text
from ukctrl.core.python_function import PythonFunction
from ukctrl.mechanics.dynamics import Dynamics

Function = Callable[[float, Vector, Vector], ArrayLike]
"""What a controller may be: time [s], ``q`` and ``v`` in, the inputs out."""


@final
@spec
class FunctionController(Controller):
    r"""A function of Python, $u = f(t, q, v)$, at the state that is measured.

    Integrators with an adaptive step call it at states that they then reject, so that what it
    remembers by itself is right with ``timing.control`` alone.
    """

    needs_servo: ClassVar[bool] = False
    needs_grip: ClassVar[bool] = False
    function: Annotated[Callable[..., Any], AfterValidator(PythonFunction)]
    """Returns the inputs, shape ``(nu,)`` [N m or N]."""

    def start(self, task: Task) -> Law:
        return _FunctionLaw(task, PythonFunction(self.function))


@final
class _FunctionLaw(Law):
    def __init__(self, task: Task, function: PythonFunction) -> None:
        super().__init__(task)
        self._function = function

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s = dynamics.snapshot
        try:
            # copies: the function may change or keep them
            value = self._function(s.t, s.q.copy(), s.v.copy())
        except UkctrlError:
            raise
        except Exception as error:
            name = self._function.name
            raise InputError(f"controller '{name}' failed: {error_text(error)}.") from error
        return Command(self._inputs(value), NO_MEMORY)

    def _inputs(self, value: Any) -> Vector:
        """Return what the function returned as an array in the order of the motors.

        Raises:
            InputError: It is none.
        """
        motors, numbers = self.task.robot.actuators, by_name(value)
        if isinstance(numbers, Mapping):
            known = sorted(numbers) == sorted(motors)
            numbers = [numbers[name] for name in motors] if known else None
        try:
            u = np.atleast_1d(np.asarray(numbers, dtype=np.float64))
        except (TypeError, ValueError, RuntimeError):
            u = np.zeros(0)
        if numbers is None or u.shape != (len(motors),):
            shown = ", ".join(labels_of(value) or [literal_text(value)])
            raise InputError(
                f"controller '{self._function.name}' must return {len(motors)} numbers, "
                f"{', '.join(motors)}; got {shown}."
            )
        return u


def as_controller(value: Any, name: str = "controller") -> Any:
    """Return a function of Python as a controller, and what else stands for one as it is.

    Args:
        value: A controller, a table, a name or a function.
        name: What messages call it.

    Raises:
        ArgumentError: It is a class.
    """
    if isinstance(value, type):
        raise argument_error(name, "a controller, the name of a card, or a function", value)
    if callable(value) and not isinstance(value, Controller):
        return FunctionController(function=value, name=PythonFunction(value).name)
    return value
