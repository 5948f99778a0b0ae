"""Which gains does simulation choose, with the same budget and search for every controller?

1. `gains`, `cost`, `plants`: what is searched over, what for, and on which plants.
2. `methods`, `ask_and_tell`, `search`: how candidates are proposed, the card's gains first.
3. `evaluate`, `tuning_journal`: candidates simulated, none of them twice, even after a kill.
4. `tuning_record`, `held_out`, `tuned`: what was tried, and what it is worth on other plants.
5. `tune`: all of it for one controller; `card`, `history` and `tuning_page` are its files.
"""

from ukctrl.studies.tuning.card import tuned_card
from ukctrl.studies.tuning.cost import Cost, Limit, Objective
from ukctrl.studies.tuning.evaluate import Bench, Order, Plant
from ukctrl.studies.tuning.gains import Gain, gains_of, read_range, with_ranges
from ukctrl.studies.tuning.held_out import HeldOut
from ukctrl.studies.tuning.mismatched_robots import mismatches, with_mismatch
from ukctrl.studies.tuning.plants import Aggregate, Plants
from ukctrl.studies.tuning.search import Budget, tune_all
from ukctrl.studies.tuning.tune import tune
from ukctrl.studies.tuning.tuned import Tuned
from ukctrl.studies.tuning.tuning_journal import Journal
from ukctrl.studies.tuning.tuning_record import METHODS, Trial, Tuning

__all__ = [
    "METHODS",
    "Aggregate",
    "Bench",
    "Budget",
    "Cost",
    "Gain",
    "HeldOut",
    "Journal",
    "Limit",
    "Objective",
    "Order",
    "Plant",
    "Plants",
    "Trial",
    "Tuned",
    "Tuning",
    "gains_of",
    "mismatches",
    "read_range",
    "tune",
    "tune_all",
    "tuned_card",
    "with_mismatch",
    "with_ranges",
]
