"""What `ukctrl view` serves, in a browser: a robot at rest, and a run that plays."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from tests.browser import chromium
from tests.browser.chromium import until
from ukctrl import Result, Robot
from ukctrl.cli.view import HERE, opened
from ukctrl.reports.scene.from_results import of_result
from ukctrl.reports.viewer.server import address
from ukctrl.reports.viewer.sliders import AtRest
from ukctrl.reports.viewer.timeline import show_scene

SMALL = (700, 500)


@pytest.fixture
def look_at(browser):
    """Open what a server shows; return how it is seen now."""

    def open_page(server):
        where = address(server)
        return chromium.opened(
            browser,
            where,
            size=SMALL,
            server=where.removeprefix("http://"),
            quiet=("THREE.", "WebGL", "GL Driver"),
        )

    return open_page


def seen(page):
    """Return the pixels of the picture, shape ``(height, width, 3)``."""
    shot = page.screenshot(clip={"x": 0, "y": 140, "width": 370, "height": 360})
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), dtype=int)


def differ(a, b):
    return (np.abs(a - b).max(axis=-1) > 12).mean()


@pytest.mark.slow
def test_a_robot_is_seen_and_its_slider_moves_it(look_at):
    with opened("panda", HERE, 0) as server:
        rest = AtRest(server, Robot.load("panda"))
        with look_at(server) as shown:
            until(lambda: (seen(shown.page).max(axis=-1) < 90).mean() > 0.01)  # dark joints
            before = seen(shown.page)
            shown.page.get_by_role("slider").nth(1).press("End")
            until(lambda: rest.q[1] > 1.0)
            until(lambda: differ(before, seen(shown.page)) > 0.005)


@pytest.mark.slow
def test_a_run_plays(look_at, made):
    scene = of_result(Result.load(made.page("run").parent))
    with opened("run", HERE, 0) as server, look_at(server) as shown:
        timeline = show_scene(server, scene)
        button = shown.page.get_by_role
        button("button", name="Pause").wait_for()  # it plays by itself
        first = seen(shown.page)
        until(lambda: differ(first, seen(shown.page)) > 1e-4)
        button("button", name="Pause").click()
        until(lambda: not timeline.playing)
        now = timeline.display.time
        button("button", name="Play").click()
        until(lambda: timeline.playing and timeline.display.time != now)
        timeline.close()
