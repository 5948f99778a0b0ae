"""Public names of a package that are imported on first use."""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import sys
from typing import Any


@functools.cache
def homes(package: str) -> dict[str, tuple[str, str]]:
    """Return the module and the name there of each public name of a package: from the imports for
    type checkers alone in its ``__init__.py``.
    """
    tree = ast.parse(pkgutil.get_data(package, "__init__.py") or b"")
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (getattr(node, "module", ""), alias.name)
        for node in block.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def lazy_name(package: str, name: str) -> Any:
    """Import a public name of a package, whose ``__getattr__`` asks for it.

    Raises:
        AttributeError: There is no such name.
    """
    members = vars(sys.modules[package])
    if name not in members["__all__"]:
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    module, attribute = homes(package)[name]
    home = vars(importlib.import_module(module or attribute))
    value = members[name] = home.get(attribute) or importlib.import_module(
        f"{module}.{attribute}".lstrip(".")
    )
    return value
