"""The optimal gain of a fuzzy uncertainty, as a card, a curve and a figure."""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from ukctrl.control.controller import law_name
from ukctrl.control.feedback.chen_robust import ChenRobust
from ukctrl.control.fuzzy_gain import FuzzyGain, read_fuzzy_gain
from ukctrl.control.servo import Servo
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import number
from ukctrl.reports import web_page
from ukctrl.reports.plot import panels, style
from ukctrl.reports.table import csv_text
from ukctrl.simulation.result.plain_files import card_text
from ukctrl.simulation.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PATH = "controller.feedback.kappa"
PRICES = tuple(10.0**k for k in range(-2, 3))
"""Prices of the table, as multiples of the one given."""


@final
@dc.dataclass(frozen=True, kw_only=True)
class FuzzyChoice:
    """A gain chosen for a scenario without a simulation."""

    scenario: Scenario
    """With the card's gain."""
    given: str
    """What it was chosen for, as written."""
    found: FuzzyGain
    """What gains cost."""
    before: float
    """The card's gain [1/s]."""

    @staticmethod
    def of(scenario: Scenario, text: str) -> FuzzyChoice:
        """Choose the gain of a scenario whose feedback is `chen_robust`.

        Raises:
            InputError: It has another feedback, or the text does not fit.
        """
        law = scenario.controller
        feedback = law.feedback if isinstance(law, Servo) else None
        if not isinstance(feedback, ChenRobust):
            raise InputError(
                f"--fuzzy chooses the gain of feedback 'chen_robust'; '{law_name(law)}' has none. "
                "Use -c servo-chen-robust, or tune by simulation."
            )
        choice = read_fuzzy_gain(text, feedback)
        given = " ".join(text.split())
        return FuzzyChoice(scenario=scenario, given=given, found=choice, before=feedback.kappa)

    @property
    def kappa(self) -> float:
        """The gain, to the digits that a card has [1/s]."""
        return float(f"{self.found.kappa:.4g}")

    @property
    def name(self) -> str:
        """Name of the card's file, without its ending."""
        return law_name(self.scenario.controller)

    def card(self) -> str:
        """Return the controller as the text of a card."""
        table = self.scenario.replace({PATH: self.kappa}).to_table()["controller"]
        return card_text(
            table,
            title=f"{table.get('title') or self.name}, kappa of least average cost",
            source=f"{table.get('source') or 'ukctrl'}; kappa from {self.given}, in closed form",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "scenario": self.scenario.name or self.scenario.title,
            "controller": self.name,
            "given": self.given,
            "kappa": self.found.kappa,
            "card": self.before,
            "cost": self.found.cost(self.found.kappa),
            "prices": self.found.table([k * self.found.price for k in PRICES]),
        }

    def curve_csv(self) -> str:
        """Return the cost of gains, one a line, with its parts."""
        lines = ((kappa, self.found.parts(kappa)) for kappa in self.found.curve().tolist())
        return csv_text(
            ["kappa", "cost", "transient", "steady", "effort"],
            ([float(value) for value in (kappa, sum(parts), *parts)] for kappa, parts in lines),
        )

    def save(self, folder: AnyPath) -> Path:
        """Write the card, the curve `fuzzy_gain.csv` and its figure; return the folder.

        Raises:
            InputError: The folder cannot be written to.
        """
        image = web_page.picture("fuzzy_gain", "Average cost", "", lambda: _figure(self.found))
        texts = {"fuzzy_gain.csv": self.curve_csv(), f"{self.name}.toml": self.card()}
        return web_page.write_page("the gain", Path(folder), texts, [image]).parent


@style.styled
def _figure(found: FuzzyGain) -> Figure:
    r"""Draw $J(\kappa)$ with its transient, its steady part, its effort and its minimum."""
    kappa = found.curve()
    parts = dict(zip(("transient", "steady", "effort"), found.parts(kappa), strict=True))
    keys = [panels.Key("J", style.INK, "-")]
    keys += [
        panels.Key(name, style.PALETTE[k], style.DASHES[k + 1]) for k, name in enumerate(parts)
    ]
    keys.append(panels.Key(f"minimum, kappa = {number(found.kappa, 4)} 1/s", style.INK, "", "*"))

    def draw(axes: Axes, room: float) -> None:
        panels.log_scale(axes, kappa, axis="x")
        for key, values in zip(keys[1:], parts.values(), strict=False):
            axes.plot(kappa, values, key.dash, color=key.color)
        cost = found.cost(kappa)
        axes.plot(kappa, cost, color=style.INK, linewidth=1.8)
        axes.plot([found.kappa], [found.cost(found.kappa)], "*", color=style.INK, markersize=12.0)
        panels.log_scale(axes, cost)
        low = float(found.cost(found.kappa))
        axes.set_ylim(0.03 * low, 1.2 * float(cost.max()))
        axes.set_xlim(kappa[0], kappa[-1])
        axes.set_ylabel("average cost [error² s]")

    panel = panels.Panel("what a gain costs on average", draw, columns=2)
    return panels.grid([panel], height=2.8, x_label="kappa [1/s]", keys=keys)
