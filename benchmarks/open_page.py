"""Time how long a large page takes to open: from the click to the first paint, and until loaded.

    python benchmarks/open_page.py [--megabytes N] [--rounds N]

The page of a run, its figures repeated until it is so large, is opened from the disk by the
system's Chromium without a graphics card, each time in a new process: cold, as a reader does. Times
are the browser's own, medians over the rounds; the processor time tells on a busy machine too.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMES = """() => {
  const [whole] = performance.getEntriesByType("navigation");
  const paints = performance.getEntriesByType("paint");
  const first = paints.find(({ name }) => name === "first-contentful-paint");
  return first && whole.loadEventEnd ? [first.startTime / 1e3, whole.loadEventEnd / 1e3] : null;
}"""


def large_page(folder: Path, size: float) -> tuple[Path, int]:
    """Write the page of a run, with figures enough for a size [bytes]; tell how many."""
    from ukctrl import Scenario, simulate, write_report

    result = simulate(Scenario.load("scara-helix-bench", {"timing.duration": 2.0}))
    page = write_report(result, folder)
    text = page.read_text(encoding="utf-8")
    figures = re.findall(
        r'<section id="\w+">\n<h2>[^\n]*\n[^\n]*\n<figure>.*?</section>', text, re.S
    )
    rounds = max(1, round((size - len(text)) / sum(map(len, figures))))
    end = text.index(figures[-1]) + len(figures[-1])
    page.write_text(text[:end] + rounds * "".join(figures) + text[end:], encoding="utf-8")
    return page, (1 + rounds) * len(figures)


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.browser import chromium

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if (missing := chromium.why_not()) is not None:
        print(missing)
        return 0
    times = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page, figures = large_page(Path(folder), asked.megabytes * 1e6)
        print(f"{page.stat().st_size / 1e6:.1f} MB, {figures} figures")
        for _ in range(asked.rounds):
            browser = chromium.launch(playwright, *chromium.SOFTWARE)
            with chromium.opened(browser, page) as shown:
                chromium.until(lambda shown=shown: shown.page.evaluate(TIMES) is not None)
                session = shown.page.context.new_cdp_session(shown.page)
                session.send("Performance.enable", {"timeDomain": "timeTicks"})
                told = session.send("Performance.getMetrics")["metrics"]
                worked = next(each["value"] for each in told if each["name"] == "ProcessTime")
                times.append([*shown.page.evaluate(TIMES), worked])
            browser.close()
    names = ("painted", "loaded", "processor time of the page by then")
    for name, values in zip(names, zip(*times, strict=True), strict=True):
        median, worst = statistics.median(values), max(values)
        print(f"{median:5.2f} s, at worst {worst:.2f} s: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
