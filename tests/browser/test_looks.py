"""Every kind of page, wide and on a phone, light and dark, folded and unfolded."""

from __future__ import annotations

import pytest

from tests.browser.chromium import PHONE, WIDE
from tests.browser.made_pages import FAST, KINDS, PLAYING
from tests.shared.slow import slow_but

ALL_DRAWN = ".drawing { content-visibility: visible !important; }"
"""Figures out of sight are drawn later; here all are looked at."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", slow_but(FAST, KINDS))
def test_nothing_overflows_overprints_or_fades_away(once, look, kind):
    shown = once(kind)
    shown.frame.add_style_tag(content=ALL_DRAWN)
    if kind in PLAYING:
        shown.frame.locator(".stage.alive").wait_for()
        shown.frame.locator(".time").fill("1")
    wrong = {}
    for size in (WIDE, PHONE):
        shown.resize(size)
        for unfolded in (False, True):
            shown.frame.evaluate(
                "on => document.querySelectorAll('details').forEach(one => one.open = on)", unfolded
            )
            for scheme in ("light", "dark"):
                shown.page.emulate_media(color_scheme=scheme)
                told = shown.frame.evaluate(look)
                if told:
                    wrong[f"{size[0]} px, {scheme}, unfolded: {unfolded}"] = told
    assert wrong == {}
    shown.judge()


@pytest.mark.slow
@pytest.mark.parametrize("kind", slow_but(FAST, ["run", "compare", "check", "sweep"]))
def test_a_phone_shows_the_verdict_first_and_lets_wide_things_scroll(once, kind):
    shown = once(kind)
    shown.resize(PHONE)
    assert shown.page.locator("h1").bounding_box()["y"] < 150
    lead = shown.page.locator(".lead").bounding_box()
    assert lead["y"] + lead["height"] < PHONE[1]
    wide = shown.page.evaluate(
        "[...document.querySelectorAll('.scroll, figure, pre')]"
        ".filter(one => one.scrollWidth > one.clientWidth + 1)"
        ".map(one => getComputedStyle(one).overflowX)"
    )
    assert set(wide) == {"auto"}
    letters = shown.page.evaluate(
        "[...document.querySelectorAll('figure')].map(one => one.querySelector('svg text'))"
        ".map(one => one.getBoundingClientRect().height)"
    )
    assert min(letters) > 8.0  # [px]


@pytest.mark.slow
def test_a_meaning_stands_below_its_number_on_a_phone(once):
    shown = once("run")
    shown.resize(PHONE)
    row = shown.page.locator("#metrics tbody tr").first
    number, meaning = (row.locator(f"td.{kind}").bounding_box() for kind in ("number", "meaning"))
    assert meaning["y"] >= number["y"] + number["height"] - 1
    assert meaning["x"] + meaning["width"] <= PHONE[0]


@pytest.mark.slow
def test_a_phone_shows_numbers_of_a_comparison_with_their_units(once):
    shown = once("compare")
    shown.resize(PHONE)
    row = shown.page.locator("#table tbody tr").filter(has_text="rms_phi").first
    number = row.locator("td.number").first.bounding_box()
    assert number["x"] + number["width"] <= PHONE[0]
    assert not row.locator("td.unit").is_visible()
    unit = row.locator("td").first.evaluate("one => getComputedStyle(one, '::after').content")
    assert unit == f'"{row.locator("td.unit").text_content()}"' != '""'


@pytest.mark.slow
def test_all_that_folds_unfolds_by_the_keyboard(once):
    page = once("refused").page
    page.reload()
    count = page.locator("details").count()
    assert count >= 4
    for _ in range(25):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('details:not([open]) > summary')"):
            page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == count


@pytest.mark.slow
def test_paper_shows_what_is_folded(once):
    page = once("refused").page
    page.reload()
    page.emulate_media(media="print")
    assert page.locator(".verdicts details ul li").first.bounding_box()["height"] > 5
    assert not page.locator("nav").is_visible()
    page.emulate_media(media="screen")
