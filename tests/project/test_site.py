"""The built site: few entries a level, guides before records in the search, and nothing fetched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
MOST = 9
"""So many entries of one level can be looked through."""
GUIDES = ("tutorials/", "howto/", "reference/")


def levels(entries: list[object], where: str = "the top") -> Iterator[tuple[str, int]]:
    """Yield how many entries each level of the navigation has."""
    yield where, len(entries)
    for entry in entries:
        if isinstance(entry, dict):
            for name, inner in entry.items():
                if isinstance(inner, list):
                    yield from levels(inner, f"{where} / {name}")


def test_no_level_of_the_navigation_has_more_entries_than_one_looks_through():
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    counts = dict(levels(navigation))
    assert len(counts) > len(navigation)
    assert {where: count for where, count in counts.items() if count > MOST} == {}


class Fetches(HTMLParser):
    """Collect the addresses that a browser fetches to show a page, not those it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            is_fetched = name in ("src", "srcset", "poster", "data") or (
                tag == "link" and name == "href"
            )
            if is_fetched and re.match(r"(?:https?:)?//", value or ""):
                self.found.append(f"<{tag} {name}={value}>")


@pytest.mark.pages
def test_the_site_fetches_nothing_from_elsewhere(site):
    found = []
    for page in site.rglob("*.html"):
        parser = Fetches()
        parser.feed(page.read_text(encoding="utf-8"))
        found += [f"{page.relative_to(site)}: {address}" for address in parser.found]
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        found += re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\s]+", text)
    assert not found


@pytest.mark.pages
def test_no_formula_lost_its_backslash_in_a_docstring(site):
    """As in "\\alpha" outside of r-strings, which begins with the code of a bell."""
    bell = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
    assert not [page for page in site.rglob("*.html") if bell.search(page.read_text("utf-8"))]


@pytest.mark.pages
def test_every_formula_of_the_site_can_be_set(site):
    pages = [page for page in site.rglob("*.html") if "arithmatex" in page.read_text("utf-8")]
    assert pages
    for page in pages:
        scripts = re.findall(r'<script src="([^"]+)"', page.read_text(encoding="utf-8"))
        wanted = ["katex.min.js", "auto-render.min.js", "math.js"]
        local = [name for name in scripts if name.split("/")[-1] in wanted]
        assert [name.split("/")[-1] for name in local] == wanted
        assert all((page.parent / name).resolve().is_file() for name in local)


@pytest.mark.pages
def test_the_search_knows_every_page_but_decisions_and_puts_guides_first(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    boosts = {urldefrag(entry["location"]).url: entry["boost"] for entry in index["docs"]}
    pages = {str(page.relative_to(site).as_posix()) for page in site.rglob("*.html")} - {"404.html"}
    records = {page for page in pages if page.startswith("decisions/")}
    assert records
    assert boosts.keys() == pages - records
    guides = {page for page in pages if page.startswith(GUIDES) and "/python/" not in page}
    assert min(boosts[page] for page in guides) > max(
        boosts[page] for page in boosts.keys() - guides
    )


@pytest.mark.pages
def test_the_films_of_the_gallery_are_loaded_when_they_come_into_view(site):
    page = (site / "gallery" / "contact-sheet.html").read_text(encoding="utf-8")
    films = re.findall(r"<img[^>]+\.webp[^>]*>", page)
    assert len(films) == len(list((ROOT / "docs/gallery/figures").glob("contact-sheet-*.webp")))
    assert all('loading="lazy"' in film for film in films)
