"""Output folders: what is written stays in the folder that was given, whatever links lie in it.

The folder that somebody names may be a link: it is his. Below it no link is followed, for a folder
that was received may hold some. Every file is reached from an open handle of the folder, one name
at a time (``openat`` with ``O_NOFOLLOW``), so that what was checked is what is written to.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from ukctrl.core.errors import InputError
from ukctrl.core.message_text import one_line

_ROOTS: ContextVar[tuple[tuple[Path, int], ...]] = ContextVar("output roots", default=())
"""Folders whose contents are being written, each with its handle; the innermost last."""
# O_PATH, where there is one, needs no right to list the folder
_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


@contextlib.contextmanager
def output_root(folder: Path, given: Path | None = None) -> Iterator[None]:
    """Let all that is written below a folder in this context stay inside of it.

    Args:
        folder: The folder, made where it is missing.
        given: What somebody has named of it, from where on no link is followed; absent: the whole.

    Raises:
        InputError: It is reached through a link below what was given.
        OSError: It cannot be made or opened.
    """
    with open_folder(folder, given) as handle:
        token = _ROOTS.set((*_ROOTS.get(), (folder.absolute(), handle)))
        try:
            yield
        finally:
            _ROOTS.reset(token)


@contextlib.contextmanager
def open_folder(folder: Path, given: Path | None = None) -> Iterator[int]:
    """Yield a handle of a folder, made where it is missing; errors are those of `output_root`."""
    path, start = folder.absolute(), (folder if given is None else given).absolute()
    if not path.is_relative_to(start):
        raise _outside(path)
    roots = [] if given is not None else [r for r in _ROOTS.get() if path.is_relative_to(r[0])]
    if roots:
        start, handle = roots[-1][0], os.dup(roots[-1][1])
    else:
        start.mkdir(parents=True, exist_ok=True)
        handle = os.open(start, _FOLDER)
    try:
        reached = start
        for name in path.relative_to(start).parts:
            reached /= name
            outer, handle = handle, _open_inner(reached, handle)
            os.close(outer)
        yield handle
    finally:
        os.close(handle)


def _open_inner(path: Path, outer: int) -> int:
    """Return a handle of the folder at a path, made where it is missing, by that of its parent."""
    if path.name == "..":
        raise _outside(path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path.name, dir_fd=outer)
    try:
        return os.open(path.name, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
    except OSError:
        refuse_link(path, outer)
        raise


def _outside(path: Path) -> InputError:
    return InputError(f"'{one_line(str(path))}' leads out of the folder that is written to.")


def refuse_link(path: Path, folder: int) -> None:
    """Refuse a link.

    Args:
        path: What may be one, for its name and for the message.
        folder: Handle of the folder that it lies in.

    Raises:
        InputError: It is one.
    """
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISLNK(os.lstat(path.name, dir_fd=folder).st_mode):
            raise InputError(
                f"'{one_line(str(path))}' is a link, and nothing is written through links; "
                "remove it, or name another folder (--out)."
            )


def open_in_place(path: Path, flags: int) -> int:
    """Return the handle of a file whose contents are changed in place, made where it is missing.

    Raises:
        InputError: It is a link, or has another name elsewhere (a hard link).
        OSError: It cannot be opened.
    """
    with open_folder(path.parent) as folder:
        refuse_link(path, folder)
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path.name, flags, 0o666, dir_fd=folder)
    if os.fstat(handle).st_nlink > 1:
        os.close(handle)
        raise InputError(
            f"'{one_line(str(path))}' has another name elsewhere (a hard link), where it would "
            "change as well; put a copy in its place."
        )
    return handle


def remove_file(path: Path) -> None:
    """Remove a file, or the link that it is, where there is one; errors are as of `output_root`."""
    with open_folder(path.parent) as folder, contextlib.suppress(FileNotFoundError):
        os.unlink(path.name, dir_fd=folder)
