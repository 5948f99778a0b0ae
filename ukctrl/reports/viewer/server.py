"""The server that a browser looks at: on this machine alone, unless asked, and without a word."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import re
import socket
from collections.abc import Iterator
from typing import Any, Final
from unittest import mock

from ukctrl.core.errors import InputError

HERE: Final = "127.0.0.1"
"""Who is on this machine may look."""
FIRST_PORT, PORTS = 8080, 20
"""Where nobody asks for a port, the first free one of so many is taken, or else any."""
MISSING = "the browser's view needs viser, which is not installed; pip install 'ukctrl[view]'."


def open_server(title: str, host: str = HERE, port: int | None = None) -> Any:
    """Return a viser server that shows nothing yet.

    Only pages that it serves itself may talk to it: any other page in the user's browser could
    else connect to this machine as well.

    Args:
        title: What stands above its controls.
        host: The address that it listens on.
        port: Its port; 0: any that is free; absent: one from `FIRST_PORT` on.

    Raises:
        InputError: viser is not installed, or the address cannot be had.
    """
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"--port must be from 0 to 65535; got {port}.")
    try:
        import viser
        import websockets.asyncio.server as websockets
    except ImportError:
        raise InputError(MISSING) from None
    chosen = _free_port(host, port)
    names = r"(127\.0\.0\.1|localhost)" if host == HERE else "[^/]*"
    own = re.compile(f"http://{names}:{chosen}")
    serve = functools.partial(websockets.serve, origins=[own])
    with mock.patch.object(websockets, "serve", serve), _silence():
        server: Any = viser.ViserServer(host=host, port=chosen, label=title, verbose=False)
    if server.get_port() != chosen:  # somebody else was quicker
        server.stop()
        raise InputError(_busy(host, chosen))
    # A tunnel to the vendor's machines is nothing that a page may ask for.
    server.request_share_url = lambda *_, **__: None
    set_dark(server, False)
    clear_controls(server)
    return server


def clear_controls(server: Any) -> None:
    """Remove all controls; those that come stand beside the picture."""
    server.gui.reset()
    server.gui.main_panel.dock_right()


def set_dark(server: Any, dark: bool) -> None:
    """Show light on dark, or dark on light."""
    server.gui.configure_theme(
        dark_mode=dark,
        show_logo=False,
        show_share_button=False,
        brand_color=(0, 114, 178),
    )


def address(server: Any) -> str:
    """Return what to type into a browser."""
    host = server.get_host()
    named = "127.0.0.1" if host in ("0.0.0.0", "", "::") else host
    return f"http://{f'[{named}]' if ':' in named else named}:{server.get_port()}"


def stop(server: Any) -> None:
    """End it, without a word."""
    with _silence():
        server.stop()


def _free_port(host: str, port: int | None) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = range(FIRST_PORT, FIRST_PORT + PORTS) if port is None else [port]
    for one in [*wanted, *([0] if port is None else [])]:
        try:
            with socket.create_server((host, one), family=family) as taken:
                return int(taken.getsockname()[1])
        except (OSError, OverflowError) as error:
            if getattr(error, "errno", None) not in (errno.EADDRINUSE, errno.EACCES):
                why = getattr(error, "strerror", None) or error
                raise InputError(f"--host '{host}' is no address of this machine: {why}.") from None
    raise InputError(_busy(host, port or 0))


def _busy(host: str, port: int) -> str:
    return f"port {port} of {host} is taken; give another with --port, or 0 for any that is free."


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep what viser prints through rich, such as a box with its address, from the terminal."""
    import rich

    console = rich.get_console()
    with mock.patch.object(console, "_file", io.StringIO()):
        yield
