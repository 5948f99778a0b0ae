"""MuJoCo's own compiler: from the text of an MJCF file to the arrays of an ``MjModel``."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.core.caches import LastValueCache
from ukctrl.core.errors import ModelError
from ukctrl.core.files.file_stamps import FileStamp, recording_reads
from ukctrl.core.message_text import one_line
from ukctrl.robot.mjcf.file_guard import refuse_unsafe
from ukctrl.robot.models.captured_stderr import capture_stderr
from ukctrl.robot.models.model_source import ModelSource, read_model

OLDEST = 4
"""Oldest release of MuJoCo whose models are read."""


_SEEN: dict[Path, FileStamp] = {}
"""The meshes and other files that MuJoCo has read here, as they were then."""


class CompiledMjcf(NamedTuple):
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


def compile_mjcf(source: ModelSource) -> CompiledMjcf:
    """Return what MuJoCo makes of a checked MJCF text, with all that it includes.

    Raises:
        ModelError: MuJoCo is missing, a file is unsafe, or MuJoCo does not accept the model.
    """
    with recording_reads() as files:
        refuse_unsafe(source)
    mujoco = library()
    if any(_SEEN.get(stamp.path) != stamp for stamp in files):
        # MuJoCo knows a mesh again by the second in which it was written, and takes an older one.
        mujoco.mj_clearCache(mujoco.mj_getCache())
        _SEEN.update({stamp.path: stamp for stamp in files})
    messages: list[str] = []
    fault: Exception | None = None
    with capture_stderr(), warnings_into(mujoco, messages):
        try:
            if source.path is None:
                spec = mujoco.MjSpec.from_string(source.text)
            else:
                spec = mujoco.MjSpec.from_file(str(source.path.resolve()))
            _set_compiler_options(spec)
            model, reason = spec.compile(), ""
        except (ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError) as error:
            fault = error
            model, reason = None, one_line(str(error)).rstrip(".") or type(error).__name__
    if model is None:
        raise ModelError(f"MuJoCo does not accept it: {reason}.") from fault
    return CompiledMjcf(model, tuple(dict.fromkeys(messages)), spec)


@contextlib.contextmanager
def warnings_into(mujoco: Any, messages: list[str]) -> Iterator[None]:
    """Take MuJoCo's warnings, which it would write into ``MUJOCO_LOG.TXT`` where one works."""
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: messages.append(one_line(str(text))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(handler)
            messages += [one_line(str(one.message)) for one in caught]


def _set_compiler_options(spec: Any) -> None:
    """Keep all bodies as frames, and leave out what only a renderer needs."""
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    spec.memory = spec.nstack = spec.njmax = spec.nconmax = -1  # as much as it needs
    for skin in list(spec.skins):
        spec.delete(skin)


def compile_for_shapes(text: str, path: Path | None) -> CompiledMjcf:
    """Return what MuJoCo makes of a file that has been loaded, once more to be looked at."""
    source = read_model(text)
    source = source if path is None else dc.replace(source, label=str(path), path=path)
    with recording_reads() as files:
        refuse_unsafe(source)
    return _LOOKED.get((text, path, tuple(files)), lambda: compile_mjcf(source))


_LOOKED: LastValueCache[CompiledMjcf] = LastValueCache()
