"""Make the film and figures of the README, the tutorial and guides, in few bytes.

    python docs/assets/figures.py

The runs are the ones that `make demo` and the tutorial's commands make; the circle is read from the
tutorial itself. `docs/tutorials/figures/report.png` is a picture of a browser and not made here.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from ukctrl import (
    Result,
    Scenario,
    compare,
    linear,
    linear_loop,
    plot,
    record,
    simulate,
)

DOCS = Path(__file__).resolve().parents[1]
TUTORIAL = DOCS / "tutorials" / "first-scenario.md"
WIDTH, COLOURS = 1200, 256


def save(figure: Figure, path: Path, part: float = 1.0) -> None:
    """Write the upper part of a figure, as wide as a page, with as many colours as it needs."""
    image = Image.open(io.BytesIO(plot.style.png(figure))).convert("RGB")
    image = image.crop((0, 0, image.width, round(part * image.height)))
    height = round(image.height * WIDTH / image.width)
    image = image.resize((WIDTH, height), Image.Resampling.LANCZOS)
    image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(f"{path.relative_to(DOCS)}  {path.stat().st_size / 1000:.0f} kB")


def film() -> None:
    """Write the film that the documentation begins with, at half the robots' speed."""
    carried = simulate(Scenario.load("two-arms-carry"))
    path = DOCS / "assets" / "two-arms-carry.webp"
    record(carried, path, fps=15.0, size=(640, 400), speed=0.5)
    print(f"{path.relative_to(DOCS)}  {path.stat().st_size / 1000:.0f} kB")


def written(page: Path, name: str) -> Scenario:
    """Return a scenario that a page writes."""
    text = page.read_text(encoding="utf-8")
    block = re.search(rf'^```toml title="{name}"\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    assert block is not None
    return Scenario.from_toml(block[1])


def moments(result: Result, path: Path) -> None:
    """Write a picture of a robot at five moments of a run."""
    record(result, path, strip=5, size=(960, 540))
    image = Image.open(path).convert("RGB")
    image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(f"{path.relative_to(DOCS)}  {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Run and draw."""
    folder = DOCS / "tutorials" / "figures"
    folder.mkdir(exist_ok=True)
    film()
    save(plot.path(simulate(Scenario.load("scara-helix"))), DOCS / "assets" / "scara-helix.png")
    decaying = simulate(Scenario.load("scara-helix-baumgarte"))
    save(plot.errors(decaying), folder / "decay.png")
    wrong = written(TUTORIAL, "circle.toml").replace({"believed.mass_scale": 0.8})
    laws = ["servo-baumgarte", "servo-pid", "computed-torque", "pd-gravity"]
    errors = plot.overlay.errors(compare(wrong, laws).results)
    save(errors, folder / "wrong-model.png", part=0.352)  # the first of three rows
    guides = DOCS / "howto" / "figures"
    guides.mkdir(exist_ok=True)
    held = linear_loop(Scenario.load("panda-elastic"))
    curves = []
    for motor in (0, 1, 6):
        grid = linear.frequencies(held, motor)
        values = linear.response_at(held, motor).at_frequencies(grid)[:, 0, 0]
        crossing = linear.margins_at(held, motor).phase_frequency
        curves.append(linear.linear_figures.LoopCurve(held.inputs[motor], grid, values, crossing))
    save(linear.linear_figures.nyquist(curves), guides / "nyquist.png")
    fastest = simulate(Scenario.load("three-rrr-fastest"))
    save(plot.inputs(fastest), guides / "fastest-inputs.png")
    least = simulate(written(DOCS / "howto" / "optimise-a-motion.md", "platform.toml"))
    moments(least, guides / "least-effort.png")


if __name__ == "__main__":
    main()
