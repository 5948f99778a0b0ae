"""The optimal gain of a fuzzy uncertainty, as a card, a curve and a figure."""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from ukctrl.control.controller import law_name
from ukctrl.control.feedback.chen_robust import ChenRobust
from ukctrl.control.servo import Servo
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import number
from ukctrl.reports import html_page
from ukctrl.reports.plot import panels, style
from ukctrl.reports.report_table import csv_text
from ukctrl.simulation.result.atomic_files import card_text
from ukctrl.simulation.scenario import Scenario
from ukctrl_laws.fuzzy.fuzzy_gain import FuzzyGainCost, read_fuzzy_gain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KAPPA_PATH = "controller.feedback.kappa"
PRICE_FACTORS = tuple(10.0**k for k in range(-2, 3))
"""Prices of the table, as multiples of the one given."""


@final
@dc.dataclass(frozen=True, kw_only=True)
class FuzzyGainDesign:
    """A gain chosen for a scenario without a simulation."""

    scenario: Scenario
    """With the card's gain."""
    uncertainty: str
    """What it was chosen for, as written."""
    fuzzy_gain: FuzzyGainCost
    """What gains cost."""
    card_kappa: float
    """The card's gain [1/s]."""

    @staticmethod
    def of(scenario: Scenario, text: str) -> FuzzyGainDesign:
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
        uncertainty = " ".join(text.split())
        return FuzzyGainDesign(
            scenario=scenario, uncertainty=uncertainty, fuzzy_gain=choice, card_kappa=feedback.kappa
        )

    @property
    def kappa(self) -> float:
        """The gain, to the digits that a card has [1/s]."""
        return float(f"{self.fuzzy_gain.kappa:.4g}")

    @property
    def name(self) -> str:
        """Name of the card's file, without its ending."""
        return law_name(self.scenario.controller)

    def card(self) -> str:
        """Return the controller as the text of a card."""
        table = self.scenario.replace({KAPPA_PATH: self.kappa}).to_table()["controller"]
        return card_text(
            table,
            title=f"{table.get('title') or self.name}, kappa of least average cost",
            source=f"{table.get('source') or 'ukctrl'}; kappa from {self.uncertainty}, in closed "
            "form",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "scenario": self.scenario.name or self.scenario.title,
            "controller": self.name,
            "given": self.uncertainty,
            "kappa": self.fuzzy_gain.kappa,
            "card": self.card_kappa,
            "cost": self.fuzzy_gain.cost(self.fuzzy_gain.kappa),
            "prices": self.fuzzy_gain.price_table(
                [k * self.fuzzy_gain.price for k in PRICE_FACTORS]
            ),
        }

    def curve_csv(self) -> str:
        """Return the cost of gains, one a line, with its parts."""
        lines = (
            (kappa, self.fuzzy_gain.cost_terms(kappa))
            for kappa in self.fuzzy_gain.gain_grid().tolist()
        )
        return csv_text(
            ["kappa", "cost", "transient", "steady", "effort"],
            ([float(value) for value in (kappa, sum(terms), *terms)] for kappa, terms in lines),
        )

    def save(self, folder: AnyPath) -> Path:
        """Write the card, the curve `fuzzy_gain.csv` and its figure; return the folder.

        Raises:
            InputError: The folder cannot be written to.
        """
        image = html_page.page_figure(
            "fuzzy_gain", "Average cost", "", lambda: _figure(self.fuzzy_gain)
        )
        texts = {"fuzzy_gain.csv": self.curve_csv(), f"{self.name}.toml": self.card()}
        return html_page.write_page("the gain", Path(folder), texts, [image]).parent


@style.styled
def _figure(gain_cost: FuzzyGainCost) -> Figure:
    r"""Draw $J(\kappa)$ with its transient, its steady part, its effort and its minimum."""
    kappa = gain_cost.gain_grid()
    terms = dict(zip(("transient", "steady", "effort"), gain_cost.cost_terms(kappa), strict=True))
    keys = [panels.LegendEntry("J", style.INK, "-")]
    keys += [
        panels.LegendEntry(name, style.PALETTE[k], style.DASHES[k + 1])
        for k, name in enumerate(terms)
    ]
    keys.append(
        panels.LegendEntry(f"minimum, kappa = {number(gain_cost.kappa, 4)} 1/s", style.INK, "", "*")
    )

    def draw(axes: Axes, width: float) -> None:
        panels.log_scale(axes, kappa, axis="x")
        for key, values in zip(keys[1:], terms.values(), strict=False):
            axes.plot(kappa, values, key.dash, color=key.color)
        cost = gain_cost.cost(kappa)
        axes.plot(kappa, cost, color=style.INK, linewidth=1.8)
        axes.plot(
            [gain_cost.kappa],
            [gain_cost.cost(gain_cost.kappa)],
            "*",
            color=style.INK,
            markersize=12.0,
        )
        panels.log_scale(axes, cost)
        low = float(gain_cost.cost(gain_cost.kappa))
        axes.set_ylim(0.03 * low, 1.2 * float(cost.max()))
        axes.set_xlim(kappa[0], kappa[-1])
        axes.set_ylabel("average cost [error² s]")

    panel = panels.Panel("what a gain costs on average", draw, columns=2)
    return panels.grid([panel], height=2.8, x_label="kappa [1/s]", keys=keys)
