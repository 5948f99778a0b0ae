"""The documentation in a browser: ten of its pages, their formulas, and its search."""

from __future__ import annotations

import re

import pytest

from tests.browser.chromium import PHONE, WIDE, opened, until

pytestmark = pytest.mark.pages

PAGES = (
    "index",
    "tutorials/first-scenario",
    "tutorials/in-a-notebook",
    "howto/see-it",
    "howto/compare-fairly",
    "theory/one-equation",
    "theory/allocation",
    "theory/inversion",
    "reference/scenarios/servo",
    "reference/python/control",
)
"""A page of each kind, and those of theory with the widest numbered formulas."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_overflows_overprints_or_fades_away(browser, site, look, name, scheme):
    with opened(browser, site / f"{name}.html", scheme=scheme) as shown:
        wrong = {}
        for size in (WIDE, PHONE):
            shown.resize(size)
            if told := shown.page.evaluate(look):
                wrong[f"{size[0]} px"] = told
        assert wrong == {}


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("theory")])
def test_numbered_formulas_are_set_and_scroll_within_the_page(browser, site, name):
    with opened(browser, site / f"{name}.html", size=PHONE) as shown:
        assert shown.page.locator(".arithmatex .katex").count() > 10
        assert shown.page.locator(".katex-error").count() == 0
        left = shown.page.locator(".arithmatex").evaluate_all(
            "all => all.filter(one => !one.querySelector('.katex')).length"
        )
        assert left == 0


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize(
    ("words", "page"),
    [("compare fairly", "howto/compare-fairly"), ("tune a controller", "howto/tune")],
)
def test_the_search_finds_guides(browser, site, size, words, page):
    with opened(browser, site / "theory" / "feedback.html", size=size) as shown:
        if size == PHONE:
            shown.page.locator("label.md-header__button[for=__search]").click()
        shown.page.locator(".md-search__input").click()
        shown.page.locator(".md-search__input").press_sequentially(words)
        results = shown.page.locator(".md-search-result__link")
        until(lambda: any(f"{page}.html" in address for address in first_of(results)))
        results.locator(f"xpath=self::*[contains(@href, '{page}.html')]").first.click()
        shown.page.wait_for_url(f"**/{page}.html*")


def first_of(results):
    """Return where the first five pages are that a search has found."""
    found = results.evaluate_all("all => all.map(one => one.getAttribute('href'))")
    return list(dict.fromkeys(re.sub(r"[?#].*", "", address) for address in found))[:5]


def test_the_scheme_is_chosen_by_hand_too(browser, site):
    """The button leads from the system's scheme to light, to dark, and back."""
    with opened(browser, site / "index.html") as shown:
        paper = "getComputedStyle(document.body).backgroundColor"
        papers = [shown.page.evaluate(paper)]
        for _ in range(3):
            shown.page.locator("label.md-header__button[for^=__palette]:not([hidden])").click()
            papers.append(shown.page.evaluate(paper))
        system, light, dark, again = papers
        assert system == light == again != dark
