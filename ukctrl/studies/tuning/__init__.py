"""Gains chosen by simulation: the same budget, the same search and the same seed for every law.

A search looks at the gains of the card first, and goes on as its method says: a Sobol sequence
over the ranges and then downhill, differential evolution, or CMA-ES. Every candidate is simulated
on the same plants, one or several around the believed one, and ranked by its cost among those that
keep to the constraints. What was found is a [`Tuning`][ukctrl.tuning.Tuning]. A
[`Journal`][ukctrl.tuning.Journal] keeps every simulation as soon as it is done, so that a
search that was stopped or killed goes on where it was.

[`tune`][ukctrl.tune] is all of it for one controller: the search, what its gains are
worth on other plants, and the card, history and page of a [`Tuned`][ukctrl.Tuned]
controller.
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
