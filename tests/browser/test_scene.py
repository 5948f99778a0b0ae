"""The moving robot: it plays, stands still, follows mouse, keys and fingers, or is a picture."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from tests.browser import chromium
from tests.browser.chromium import FLAT, PHONE, until
from tests.browser.made_pages import FAST, MOVING, PLAYING
from tests.shared.slow import slow_but

SMALL = (900, 700)
"""A window whose stage is quickly drawn [px]."""


class Stage:
    """The stage of a page, as a user handles it."""

    def __init__(self, shown: chromium.Opened) -> None:
        self.page, self.frame = shown.page, shown.frame
        self.frame.locator(".stage.alive").wait_for()
        self.canvas = self.frame.locator(".stage canvas")

    def pixels(self) -> np.ndarray:
        """Return what is seen of the canvas, shape ``(height, width, 3)``."""
        self.settle()
        seen = self.canvas.screenshot(animations="allow")
        return np.asarray(Image.open(io.BytesIO(seen)).convert("RGB"), dtype=int)

    def time(self) -> float:
        return float(self.frame.locator(".controls output").inner_text().split()[0])

    def playing(self) -> bool:
        return self.frame.locator(".play").get_attribute("aria-label") == "Pause"

    def set(self, share: float) -> None:
        """Stop, and set the time, as a fraction of the motion."""
        self.frame.locator(".time").fill(str(share))
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.frame.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )


def changed(a: np.ndarray, b: np.ndarray) -> float:
    """Return which fraction of the pixels differs visibly."""
    return float((np.abs(a - b).max(axis=-1) > 12).mean())


@pytest.fixture
def stage(once):
    """The stage of a kind of page, at its start, unturned."""
    used = []

    def on_stage(kind: str = "run") -> Stage:
        shown = once(kind, size=SMALL)
        used.append(shown)
        at = Stage(shown)
        at.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        at.page.mouse.move(0, 0)
        at.frame.locator(".reset").evaluate("button => button.click()")
        if kind in PLAYING:
            at.set(0.0)
        return at

    yield on_stage
    for shown in used:
        shown.judge()


@pytest.mark.slow
@pytest.mark.parametrize("kind", slow_but(FAST, MOVING))
def test_the_canvas_shows_the_robot_in_both_schemes(stage, kind):
    at = stage(kind)
    seen = []
    for scheme in ("dark", "light"):
        at.page.emulate_media(color_scheme=scheme)
        seen.append(at.pixels())
        at.canvas.evaluate("canvas => canvas.style.opacity = 0")
        assert changed(seen[-1], at.pixels()) > 0.02
        at.canvas.evaluate("canvas => canvas.style.opacity = ''")
    assert changed(*seen) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("kind", slow_but(FAST, PLAYING))
def test_it_moves_while_it_plays_and_stands_still_when_paused(stage, kind):
    at = stage(kind)
    first = at.pixels()
    speeds = at.frame.locator("select")
    slowest = speeds.locator("option").evaluate_all("all => Math.min(...all.map(o => +o.value))")
    speeds.select_option(str(slowest))  # so that it is not over before it is paused
    button = at.frame.locator(".play")
    button.click()
    until(lambda: at.time() > 0.05)
    assert at.playing()
    button.click()
    now, seen = at.time(), at.pixels()
    assert changed(first, seen) > 1e-4
    at.page.wait_for_timeout(100)
    assert at.time() == now
    assert changed(seen, at.pixels()) == 0.0


@pytest.mark.slow
def test_a_card_out_of_sight_gives_its_graphics_back_and_is_the_same_when_it_returns(stage):
    """Of more than 16 cards in a notebook a browser takes the graphics of the first away."""
    at = stage("card")
    at.set(0.5)
    first = at.pixels()
    at.page.evaluate("document.body.style.paddingBottom = '3000px'; scrollTo(0, 2500)")
    at.frame.locator(".stage:not(.alive)").wait_for(state="attached")
    assert at.canvas.evaluate("canvas => canvas.getContext('webgl2').isContextLost()")
    at.page.evaluate("scrollTo(0, 0)")
    at.frame.locator(".stage.alive").wait_for()
    assert changed(first, at.pixels()) == 0.0
    at.page.evaluate("document.body.style.paddingBottom = ''")


@pytest.mark.slow
def test_a_slider_moves_a_robot_at_rest_and_home_brings_it_back(stage):
    at = stage("robot")
    first = at.pixels()
    at.frame.locator(".joints input").nth(1).press("End")
    assert changed(first, at.pixels()) > 1e-3
    at.frame.locator(".joints .home").click()
    assert changed(first, at.pixels()) == 0.0


@pytest.mark.slow
def test_the_same_moment_is_the_same_picture(stage):
    at = stage()
    at.set(0.2)
    first = at.pixels()
    at.set(1.0)
    assert changed(first, at.pixels()) > 1e-4
    at.set(0.2)
    assert changed(first, at.pixels()) == 0.0


@pytest.mark.slow
def test_it_ends_at_the_end_and_begins_again(stage):
    at = stage()
    at.set(0.9)
    at.frame.locator(".play").click()
    at.frame.locator(".play[aria-label=Play]").wait_for()
    end = at.time()
    assert end == 0.5
    at.frame.locator(".play").click()
    at.settle()
    assert at.time() < end


@pytest.mark.slow
def test_the_time_runs_through_every_figure_and_a_click_sets_it(stage):
    at = stage()
    at.set(0.4)
    areas = at.frame.locator(".cursor-area")
    spans = at.frame.locator("[data-time]").evaluate_all("all => all.map(one => one.dataset.time)")
    assert areas.count() == len(spans) >= 8
    for area, span in zip(areas.all(), spans, strict=True):
        start, end = map(float, span.split()[4:])
        area.scroll_into_view_if_needed()
        at.settle()
        box, line = area.bounding_box(), area.locator(".cursor").bounding_box()
        assert line["x"] - box["x"] == pytest.approx(
            box["width"] * (0.2 - start) / (end - start), abs=1.5
        )
        assert line["height"] == pytest.approx(box["height"], abs=1.0)
    areas.last.click(position={"x": 0.75 * box["width"], "y": 0.5 * box["height"]})
    assert at.time() == pytest.approx(start + 0.75 * (end - start), abs=0.005)


FOCUSED = """(() => {
  const one = document.activeElement, look = getComputedStyle(one);
  const name = one.type === "checkbox" ? one.type : one.classList[0] ?? one.localName;
  const ring = look.outlineStyle !== "none" && parseFloat(look.outlineWidth) > 0;
  return [name, document.getElementById("scene").contains(one), ring];
})()"""


@pytest.mark.slow
def test_every_control_is_reached_by_tab_and_the_focus_is_seen(stage):
    at = stage()
    at.frame.locator("nav a").last.focus()
    met = []
    for _ in range(40):
        at.page.keyboard.press("Tab")
        name, inside, ring = at.page.evaluate(FOCUSED)
        assert ring, f"the focus on {name!r} cannot be seen"
        if not inside and met:
            break
        met += [name] if inside else []
    assert list(dict.fromkeys(met)) == ["stage", "reset", "play", "time", "select", "checkbox"]


@pytest.mark.slow
def test_it_is_played_and_set_by_keys_alone(stage):
    at = stage()
    at.set(0.5)
    at.frame.locator(".stage").focus()
    press = at.page.keyboard.press
    press("ArrowRight")
    assert at.time() == pytest.approx(0.25 + 0.5 / 200, abs=0.001)
    press("Shift+ArrowLeft")
    assert at.time() < 0.25
    press("End")
    assert at.time() == 0.5
    press("Home")
    assert at.time() == 0.0
    press(" ")
    assert at.playing()
    press(" ")
    assert not at.playing()


@pytest.mark.slow
def test_the_mouse_turns_it_and_r_puts_it_back(stage):
    at = stage("robot")
    first, box = at.pixels(), at.canvas.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    at.page.mouse.move(*middle)
    at.page.mouse.down()
    at.page.mouse.move(middle[0] + 80, middle[1] + 20, steps=4)
    at.page.mouse.up()
    assert changed(first, at.pixels()) > 0.02
    at.frame.locator(".stage").focus()
    at.page.keyboard.press("r")
    at.page.evaluate("document.activeElement.blur()")
    assert changed(first, at.pixels()) < 1e-3


@pytest.mark.slow
def test_a_robot_at_rest_offers_nothing_to_play(stage):
    at = stage("robot")
    assert not at.frame.locator(".controls").is_visible()
    assert at.frame.locator(".switches").is_visible()


@pytest.mark.slow
def test_what_is_switched_off_is_not_seen(stage):
    at = stage("compare")
    first = at.pixels()
    box = at.frame.get_by_label("servo-baumgarte")
    box.uncheck()
    assert changed(first, at.pixels()) > 0.01
    box.check()
    at.page.mouse.move(0, 0)
    assert changed(first, at.pixels()) == 0.0


def fingers(at: Stage, *tracks: list[tuple[float, float]]) -> None:
    """Move fingers over the screen, each along its places."""
    session = at.page.context.new_cdp_session(at.page)
    for k, places in enumerate(zip(*tracks, strict=True)):
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
        kind = "touchMove" if k else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        at.settle()
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.fixture
def in_hand(once):
    """A run's page on a phone, with the middle of its canvas."""
    at = Stage(once("run", size=PHONE, is_mobile=True, has_touch=True))
    at.set(1.0)
    at.page.evaluate("scrollTo(0, 0)")
    at.frame.locator(".reset").evaluate("button => button.click()")
    box = at.canvas.bounding_box()
    return at, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.slow
def test_one_finger_turns_it(in_hand):
    at, x, y = in_hand
    first = at.pixels()
    fingers(at, [(x - 60 + 20 * k, y) for k in range(7)])
    assert changed(first, at.pixels()) > 0.02
    assert at.page.evaluate("scrollY") == 0


@pytest.mark.slow
def test_two_fingers_zoom_it_and_not_the_page(in_hand):
    at, x, y = in_hand
    first = at.pixels()
    fingers(at, [(x - 20 - 15 * k, y) for k in range(6)], [(x + 20 + 15 * k, y) for k in range(6)])
    assert changed(first, at.pixels()) > 0.02
    assert at.page.evaluate("visualViewport.scale") == 1


@pytest.mark.slow
def test_a_finger_that_moves_upwards_scrolls_the_page(in_hand):
    at, x, y = in_hand
    fingers(at, [(x, y + 60 - 20 * k) for k in range(9)])
    until(lambda: at.page.evaluate("scrollY") > 50)


@pytest.mark.slow
def test_where_less_motion_is_asked_for_nothing_moves_by_itself(once):
    at = Stage(once("run", size=SMALL, reduced_motion="reduce"))
    at.settle()
    assert at.time() == 0.5
    assert not at.playing()
    at.frame.locator(".play").click()  # who asks for it gets it
    at.settle()
    assert at.time() < 0.5
    assert at.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


@pytest.mark.slow
def test_without_webgl_a_still_picture_stands_there_and_the_time_still_runs(launch, made):
    flat = launch(*FLAT)
    with chromium.opened(flat, made.page("run"), size=SMALL, quiet=("WebGL",)) as shown:
        page = shown.page
        page.locator(".without").wait_for()
        assert page.locator(".stage svg.still").is_visible()
        assert page.locator(".stage svg.still polygon").count() > 5
        assert page.locator(".stage.alive").count() == 0
        page.locator(".time").fill("0.25")
        area = page.locator(".cursor-area").first
        area.scroll_into_view_if_needed()
        line = page.locator(".cursor").first
        until(lambda: "translateX(25%)" in (line.get_attribute("style") or ""))
    flat.close()
