"""One browser for the tests of a file, each page made once, and the documentation built once."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import chromium
from tests.browser.made_pages import MadePages

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadePages:
    return MadePages(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="session")
def look() -> str:
    """What tells, in the browser, all that is wrong with how a page looks."""
    return Path(__file__).with_name("look.js").read_text(encoding="utf-8")


# Of a module, since an event loop runs in its thread meanwhile, which other tests would trip over.


@pytest.fixture(scope="module")
def launch() -> Iterator[Callable[..., Browser]]:
    """Start browsers that end with the file's tests."""
    if (missing := chromium.why_not()) is not None:
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield functools.partial(chromium.launch, playwright)


@pytest.fixture(scope="module")
def browser(launch: Callable[..., Browser]) -> Iterator[Browser]:
    """The browser, with three dimensions by the processor."""
    opened = launch(*chromium.SOFTWARE)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def once(browser: Browser, made: MadePages) -> Iterator[Callable[..., chromium.Opened]]:
    """Open a made page by its kind, once for all tests of a file; see `chromium.opened`."""
    with contextlib.ExitStack() as until_the_end:

        @functools.cache
        def page(kind: str, **how: Any) -> chromium.Opened:
            return until_the_end.enter_context(chromium.opened(browser, made.page(kind), **how))

        yield page
