"""Which gains does simulation choose, with the same budget and search for every controller?

In order:

1. ``gains``, ``error_dynamics_ranges``, ``cost``, ``plants``: what is searched over, what for, and
   where.
2. ``gain_search``: what was tried.
3. ``candidate_evaluator``: candidates simulated, none of them twice, even after a kill.
4. ``search_space``, ``search_methods``, ``search``: candidates proposed, the card's gains first.
5. ``tuning_verdicts``, ``tuned``: in words; what it is worth on other plants, and the new card.
6. ``tune``: all of it for one controller. ``tuning_figures``, ``tuning_page``: its files.
"""

from ukctrl.studies.batch.run_store import SimulationJournal
from ukctrl.studies.tuning.cost import Cost, Limit, Objective
from ukctrl.studies.tuning.gain_search import METHODS, GainSearch, HeldOut, TuningTrial
from ukctrl.studies.tuning.gains import Gain, gains_of, read_range, with_ranges
from ukctrl.studies.tuning.plants import Plants
from ukctrl.studies.tuning.search import Budget, tune_all
from ukctrl.studies.tuning.tune import tune
from ukctrl.studies.tuning.tuned import Tuned, tuned_card

__all__ = [
    "METHODS", "Budget", "Cost", "Gain", "GainSearch", "HeldOut", "Limit", "Objective",
    "Plants", "SimulationJournal", "Tuned", "TuningTrial", "gains_of", "read_range", "tune",
    "tune_all", "tuned_card", "with_ranges",
]  # fmt: skip
