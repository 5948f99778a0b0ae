"""How an object shows itself in a notebook: floors above its own know that, and are asked by name.

A result knows no page. Its class names the module that shows it, which is imported when somebody
looks.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar


class Shown:
    """What has a card in a notebook."""

    shown_by: ClassVar[str]
    """The module of `ukctrl` whose ``html`` makes its card."""

    @classmethod
    def shower(cls) -> Any:
        """Return that module."""
        return importlib.import_module(f"ukctrl.{cls.shown_by}")

    def _repr_html_(self) -> str | None:
        text: str | None = self.shower().html(self)
        return text
