"""Scripts that belong to no package, as modules."""

from __future__ import annotations

import importlib.util
import sys


def module_of(path):
    """Return a script as a module, of its folder's name and its own."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its data classes look for themselves
    spec.loader.exec_module(module)
    return module
