"""Every page is one file that fetches nothing, runs nothing but its own, and says first how it is.

These tests need no browser.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from tests.browser.made_pages import FAST, KINDS
from tests.shared.slow import slow_but

FETCHING = {"src", "srcset", "poster", "data", "action", "formaction", "background", "ping"}

OF_A_DRAWING = "[a-z][0-9a-f]{10}"
"""Marks and clips are named by what they are: of two with one name either will do."""


class Read(HTMLParser):
    """What a page holds, as far as the tests ask; a frame's page is read in its place."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.anchors: list[str] = []
        self.places: list[str] = []
        self.scripts: list[str] = []
        self.policies: list[str] = []
        self.sheets: list[str] = []
        self.framed: list[str] = []
        self.leads: list[str] = []
        self._into: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.fetched += [f"<{tag} {name}={given[name]}>" for name in FETCHING & given.keys()]
        if tag == "link":
            self.fetched.append(f"<link {given}>")
        if tag == "a":
            self.anchors.append(given["href"])
        if "id" in given and not re.fullmatch(OF_A_DRAWING, given["id"]):
            self.places.append(given["id"])
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(given["content"])
        if "srcdoc" in given:
            self.framed.append(given["srcdoc"])
        executed = tag == "script" and "type" not in given
        into = self.scripts if executed else self.sheets if tag == "style" else None
        if given.get("class") == "lead":
            into = self.leads
        if into is not None:
            into.append("")
            self._into = into

    def handle_data(self, data):
        if self._into is not None:
            self._into[-1] += data

    def handle_endtag(self, tag):
        if tag in ("script", "style", "p"):
            self._into = None


@pytest.fixture(params=slow_but(FAST, KINDS))
def read(request, made):
    """A page, or what its frame holds."""
    page = made.page(request.param)
    whole = Read(page.read_text(encoding="utf-8"))
    return page, (Read(whole.framed[0]) if whole.framed else whole)


def test_nothing_is_fetched(read):
    _, page = read
    assert page.fetched == []
    assert page.sheets
    found = [each for sheet in page.sheets for each in re.findall(r"@import|url\(", sheet)]
    assert found == []


def test_its_policy_allows_its_own_scripts_alone(read):
    _, page = read
    (policy,) = page.policies
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    digests = [hashlib.sha256(code.encode()).digest() for code in page.scripts]
    own = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    assert rules["script-src"] == (" ".join(own) or "'none'")


def test_every_link_leads_somewhere(read):
    file, page = read
    for anchor in page.anchors:
        name, _, place = anchor.partition("#")
        assert (place in page.places) if not name else (file.parent / name).is_file(), anchor
    assert len(page.places) == len(set(page.places))


def test_the_verdict_stands_on_top(read, request):
    _, page = read
    spoken = [lead.strip() for lead in page.leads]
    assert len(spoken) == ("robot" not in request.node.name)  # a robot at rest has no verdict
    assert all(lead.endswith(".") for lead in spoken)
