"""The system's Chromium, and what every page must keep to while it is open there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
VARIABLE = "UKCTRL_CHROMIUM"
"""Names another browser of that family: a command or a path."""
SOFTWARE = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""Three dimensions without a graphics card."""
FLAT = ("--disable-gpu", "--disable-3d-apis")
"""No three dimensions at all."""
WIDE, PHONE = (1280, 900), (412, 915)
"""Sizes of windows [px]."""
TIMEOUT = 30_000
"""Whatever a test waits for comes sooner, on a busy machine too [ms]."""
HERE = ("file", "data", "blob", "about")
"""Schemes that ask no server."""


def found() -> str | None:
    """Return the path of a browser, or None where there is none."""
    named = os.environ.get(VARIABLE)
    return next(filter(None, map(shutil.which, [named] if named else NAMES)), None)


def why_not() -> str | None:
    """Return what is missing to open pages, or None."""
    if found() is None:
        named = os.environ.get(VARIABLE)
        return (
            f"no browser at {VARIABLE}={named!r}"
            if named
            else f"no Chromium on this machine: `make browser` installs it, or set {VARIABLE}"
        )
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError as error:
        return f"the Python package playwright is missing: {error}"
    return None


def launch(playwright: Playwright, *arguments: str) -> Browser:
    """Start the browser; none is ever downloaded."""
    return playwright.chromium.launch(
        executable_path=found(),
        args=["--no-sandbox", "--disable-dev-shm-usage", *arguments],
    )


def until(done: Callable[[], bool]) -> None:
    """Wait until something is so; a page's policy lets it not wait for a condition by itself."""
    end = time.monotonic() + TIMEOUT / 1000
    while not done():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


class Opened:
    """A page that is open, and all that it did wrong."""

    def __init__(self, page: Page, server: str | None = None, quiet: tuple[str, ...] = ()) -> None:
        self.page, self._quiet = page, ("GPU stall due to ReadPixels", *quiet)
        self.faults: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda asked: self._asked(asked.url, server))
        page.on("websocket", lambda socket: self._asked(socket.url, server))

    def judge(self) -> None:
        """Fail where something has gone wrong."""
        faults, self.faults = self.faults, []
        assert faults == []

    def resize(self, size: tuple[int, int]) -> None:
        """Give the window a size [px]."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})

    @property
    def frame(self) -> Frame:
        """The innermost frame, in which a page's own parts are."""
        return self.page.frames[-1]

    def _said(self, message: Any) -> None:
        known = any(words in message.text for words in self._quiet)
        if message.type in ("error", "warning") and not known:
            self.faults.append(f"console: {message.text}")

    def _asked(self, address: str, server: str | None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in HERE and parts.netloc != server:
            self.faults.append(f"request: {address}")


@contextmanager
def opened(
    browser: Browser,
    address: Path | str,
    size: tuple[int, int] = WIDE,
    scheme: str = "light",
    server: str | None = None,
    quiet: tuple[str, ...] = (),
    **more: Any,
) -> Iterator[Opened]:
    """Open a page of its own, and close it; at the end nothing may have gone wrong.

    Args:
        browser: Where.
        address: A file or an address.
        size: Of the window [px].
        scheme: ``light`` or ``dark``.
        server: The one server that it may ask, as ``host:port``.
        quiet: Words of what the console may say.
        more: What else its context shall be, such as ``has_touch=True``.
    """
    viewport = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, **more)
    context.set_default_timeout(TIMEOUT)
    try:
        shown = Opened(context.new_page(), server, quiet)
        shown.page.goto(address.as_uri() if isinstance(address, Path) else address)
        yield shown
        shown.judge()
    finally:
        context.close()


def install() -> str | None:
    """Install Debian's Chromium where there is none; return why that cannot be, or None."""
    if found() is not None:
        return None
    advice = (
        f"no Chromium on this machine. Install it (on Debian: sudo apt-get install chromium), "
        f"or name another browser of its family: {VARIABLE}=/path/to/chrome make browser"
    )
    if os.environ.get(VARIABLE) or not shutil.which("apt-get"):
        return advice
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and (
        not shutil.which("sudo")
        or subprocess.run([*sudo, "true"], stderr=subprocess.DEVNULL).returncode
    ):
        return advice
    print("Installing Chromium by apt ...", flush=True)
    for words in (
        ["update", "-qq"],
        ["install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ):
        subprocess.run([*sudo, "apt-get", *words], check=False, stdout=subprocess.DEVNULL)
    return None if found() is not None else advice


if __name__ == "__main__":
    sys.exit(install())
