"""A plain function of Python where a part of a scenario stands: its name, and other processes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, final


@final
class PythonFunction:
    """A function that a user has written in Python, in place of a part.

    Other processes get it whole, also where it is of a script or has no name; two are equal where
    they are the same function.

    Args:
        function: The function, or one that is such already.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function: Callable[..., Any] = (
            function.function if isinstance(function, PythonFunction) else function
        )
        name = str(getattr(self.function, "__name__", type(self.function).__name__))
        self.name = "function" if name == "<lambda>" else name
        """What it is called; ``function`` where it has no name."""

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PythonFunction) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (_pickled(self.function),)

    def __repr__(self) -> str:
        """Return its name, and a digest that tells it from others of the same name."""
        try:
            content = _pickled(self.function)
        except Exception:  # it holds what no other process can have, and so is like no other
            content = repr(self.function).encode()
        return f"{self.name} (made in Python, {hashlib.sha256(content).hexdigest()[:8]})"


def _pickled(function: Callable[..., Any]) -> bytes:
    import cloudpickle

    return bytes(cloudpickle.dumps(function))


def _unpickle(data: bytes) -> PythonFunction:
    import cloudpickle

    return PythonFunction(cloudpickle.loads(data))
