"""The time of a scene in the browser: played, or set by hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from ukctrl.reports.scene.stage import Scene
from ukctrl.reports.viewer.display import Display
from ukctrl.reports.viewer.server import clear_controls

FRAME: Final = 1.0 / 30.0
"""A moment is shown for so long [s]."""
SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
LENGTH: Final = 20.0
"""At the speed that is chosen first a motion takes no longer than this [s]."""
LABELS = {"believed": "ghost", "frames": "axes"}


class Timeline:
    """The controls of a scene's time, and the thread that plays it.

    Args:
        display: What is shown.
        server: Where.
        live: Whether more moments come: it follows the last one until a user takes over.
        end: When the last one will be, where that is known [s].
    """

    def __init__(
        self, display: Display, server: Any, *, live: bool = False, end: float | None = None
    ) -> None:
        self.display = display
        self.playing, self.following, self._live = False, live, live
        self._known = display.scene.time[-1]
        self._start = float(display.scene.time[0])
        self._end = float(self._known if end is None else end)
        self._closed = threading.Event()
        self._wake = threading.Event()
        gui, span = server.gui, self._end - self._start
        self._button = gui.add_button("Play", icon="player-play")
        step = max(span / 1000.0, 1e-9)
        self.slider = gui.add_slider("time [s]", self._start, self._end, step, float(display.time))
        usual = next((one for one in SPEEDS if one >= 1.0 and span / one <= LENGTH), SPEEDS[-1])
        if span < 2.0:
            usual = next(one for one in SPEEDS if span / one <= 4.0)
        self._speed = gui.add_dropdown(
            "speed", tuple(_times(one) for one in SPEEDS), initial_value=_times(usual)
        )
        self.loop = gui.add_checkbox("loop", True)
        self.loop.visible = not live
        self._button.on_click(lambda _: self.pause() if self.playing else self.play())
        self.slider.on_update(self._set)
        self._told()
        self._thread = threading.Thread(target=self._run, name="timeline", daemon=True)
        self._thread.start()

    def play(self) -> None:
        """Play on, from the start where the end is reached."""
        if self.display.time >= self._known:
            self.go(self._start)
        self.playing, self.following = True, False
        self._told()
        self._wake.set()

    def pause(self) -> None:
        """Stay at the moment that is shown."""
        self.playing = False
        self._told()
        self._wake.clear()

    def go(self, moment: float) -> None:
        """Show a moment [s]."""
        moment = min(max(moment, self._start), self._known)
        self.display.show(moment)
        self.slider.value = round(moment, 9)

    def grow(self) -> None:
        """Take note of moments that have come; show the last where it follows."""
        self._known = float(self.display.scene.time[-1])
        if self.following:
            self.go(self._known)

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._wake.set()
        self._thread.join(timeout=2.0)

    def _set(self, event: Any) -> None:
        if event.client is None:  # it was set here
            return
        self.following = False
        if self.playing:
            self.pause()
        self.display.show(min(float(self.slider.value), self._known))

    def _told(self) -> None:
        self._button.label = "Pause" if self.playing else "Play"
        self._button.icon = "player-pause" if self.playing else "player-play"

    def _run(self) -> None:
        before = time.monotonic()
        while not self._closed.is_set():
            if not self.playing:
                self._wake.wait()
                before = time.monotonic()
                continue
            now = time.monotonic()
            passed = min(now - before, 0.25)  # a slow machine plays slower
            before = now
            moment = self.display.time + passed * float(self._speed.value[:-1])
            if moment >= self._known:
                self.go(self._known)
                if self._live:  # and on with what comes
                    self.pause()
                    self.following = True
                    continue
                if not self.loop.value:
                    self.pause()
                    continue
                self._closed.wait(0.7)
                moment = self._start
            self.go(moment)
            self._closed.wait(max(0.0, FRAME - (time.monotonic() - now)))


def show_scene(server: Any, scene: Scene) -> Timeline | None:
    """Show a scene with its time, which begins to run where there is any."""
    clear_controls(server)
    display = Display(server, scene)
    add_words(server, scene.title, scene.notes)
    timeline = Timeline(display, server) if len(scene.time) > 1 else None
    add_switches(server, display)
    if timeline is not None:
        timeline.play()
    return timeline


def add_switches(server: Any, display: Display, *more: str) -> None:
    """Add a box for everything that may be hidden, and for what may come."""
    with server.gui.add_folder("Show"):
        for group, seen in {**dict.fromkeys(more, True), **display.groups}.items():
            box = server.gui.add_checkbox(LABELS.get(group, group), seen)
            box.on_update(lambda event, group=group: display.set_visible(group, event.target.value))
        dark = server.gui.add_checkbox("dark", False)
        dark.on_update(lambda event: display.set_dark(bool(event.target.value)))


def add_words(server: Any, title: str, lines: Sequence[str]) -> Any:
    """Add a title, and sentences below it, as plain text."""
    said = "".join(f"<p style='margin:2px 0;opacity:.75'>{escape(line)}</p>" for line in lines)
    head = f"<b style='font-size:14px'>{escape(title)}</b>"
    return server.gui.add_html(
        f"<div style='padding:2px 12px 6px;font-size:12px'>{head}{said}</div>"
    )


def _times(speed: float) -> str:
    return f"{speed:g}x"
