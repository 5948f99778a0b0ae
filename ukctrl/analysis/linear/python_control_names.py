"""Names as python-control takes them."""

from __future__ import annotations

from collections.abc import Sequence


def signals(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of inputs or outputs without the dots that python-control has for itself.

    >>> signals(("tool.x", "q1"))
    ('tool_x', 'q1')
    """
    plain = [name.replace(".", "_") for name in names]
    return tuple(
        name if plain.count(name) == 1 else f"{name}_{plain[: k + 1].count(name)}"
        for k, name in enumerate(plain)
    )
