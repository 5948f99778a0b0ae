"""How an object shows itself in a notebook: floors above its own know that, and are asked by name.

A result knows no page. Its class names the module that shows it, which is imported when somebody
looks.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar


class NotebookRepr:
    """What has a card in a notebook."""

    repr_module: ClassVar[str]
    """The module whose ``html`` makes its card."""

    @classmethod
    def load_repr_module(cls) -> Any:
        """Return that module."""
        return importlib.import_module(cls.repr_module)

    def _repr_html_(self) -> str | None:
        text: str | None = self.load_repr_module().html(self)
        return text
