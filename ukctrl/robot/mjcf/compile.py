"""MuJoCo's own compiler: from the text of an MJCF file to the arrays of an ``MjModel``."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.core.errors import ModelError
from ukctrl.core.files.toml import one_line
from ukctrl.core.files.unchanged import Seen, noting
from ukctrl.core.remembered import Remembered
from ukctrl.robot.mjcf.guard import refuse_unsafe
from ukctrl.robot.models.quiet import quiet
from ukctrl.robot.models.source import Source, read

OLDEST = 4
"""Oldest release of MuJoCo whose models are read."""


_SEEN: dict[Path, Seen] = {}
"""The meshes and other files that MuJoCo has read here, as they were then."""


class Compiled(NamedTuple):
    """What MuJoCo made of a file."""

    model: Any
    """The ``mujoco.MjModel``; whoever reads it leaves it as it is."""
    warnings: tuple[str, ...]
    """What its compiler warned of."""
    spec: Any
    """The ``mujoco.MjSpec``."""


def library() -> Any:
    """Return the module ``mujoco``, which takes 0.1 s and 23 MB and is imported for MJCF alone.

    Raises:
        ModelError: It is not installed, or too old.
    """
    try:
        import mujoco
    except (ImportError, OSError) as error:  # OSError: files of two releases in one place
        reason = "" if isinstance(error, ModuleNotFoundError) else f" ({one_line(str(error))})"
        raise ModelError(
            f"MJCF is compiled by MuJoCo, which is not installed{reason}; pip install "
            "'ukctrl[mujoco]' (31 MB)."
        ) from None
    if int(mujoco.__version__.split(".")[0]) < OLDEST:
        raise ModelError(
            f"MJCF is compiled by MuJoCo {OLDEST} or newer; got {mujoco.__version__}. pip "
            "uninstall mujoco, then pip install 'ukctrl[mujoco]'."
        )
    return mujoco


def compiled(source: Source) -> Compiled:
    """Return what MuJoCo makes of a checked MJCF text, with all that it includes.

    Raises:
        ModelError: MuJoCo is missing, a file is unsafe, or MuJoCo does not accept the model.
    """
    with noting() as files:
        refuse_unsafe(source)
    mujoco = library()
    if any(_SEEN.get(each.path) != each for each in files):
        # MuJoCo knows a mesh again by the second in which it was written, and takes an older one.
        mujoco.mj_clearCache(mujoco.mj_getCache())
        _SEEN.update({each.path: each for each in files})
    said: list[str] = []
    with quiet(), warnings_into(mujoco, said):
        try:
            if source.path is None:
                spec = mujoco.MjSpec.from_string(source.text)
            else:
                spec = mujoco.MjSpec.from_file(str(source.path.resolve()))
            _settle(spec)
            model, reason = spec.compile(), ""
        except (ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError) as error:
            model, reason = None, one_line(str(error)).rstrip(".") or type(error).__name__
    if model is None:
        raise ModelError(f"MuJoCo does not accept it: {reason}.")
    return Compiled(model, tuple(dict.fromkeys(said)), spec)


@contextlib.contextmanager
def warnings_into(mujoco: Any, said: list[str]) -> Iterator[None]:
    """Take MuJoCo's warnings, which it would write into ``MUJOCO_LOG.TXT`` where one works."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: said.append(one_line(str(text))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(before)
            said += [one_line(str(one.message)) for one in caught]


def _settle(spec: Any) -> None:
    """Keep all bodies as frames, and leave out what only a renderer needs."""
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    spec.memory = spec.nstack = spec.njmax = spec.nconmax = -1  # as much as it needs
    for skin in list(spec.skins):
        spec.delete(skin)


def for_looking(text: str, path: Path | None) -> Compiled:
    """Return what MuJoCo makes of a file that has been loaded, once more to be looked at."""
    source = read(text)
    source = source if path is None else dc.replace(source, label=str(path), path=path)
    with noting() as files:
        refuse_unsafe(source)
    return _LOOKED.get((text, path, tuple(files)), lambda: compiled(source))


_LOOKED: Remembered[Compiled] = Remembered()
