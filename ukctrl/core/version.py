"""The version of ukctrl that is installed."""

from __future__ import annotations

import functools


@functools.cache
def installed_version() -> str:
    """Return it, such as ``0.1.0``; ``0+unknown`` in a source tree that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ukctrl")
    except PackageNotFoundError:
        return "0+unknown"
