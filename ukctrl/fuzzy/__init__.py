"""The gain that is best on average over a fuzzy uncertainty, in closed form.

Not a rule base: the law is an ordinary one with a guarantee, and only what is *expected* of it is
taken over a fuzzy number that says how large the uncertainty may be.
"""

from ukctrl.fuzzy.gain import FuzzyGain, fuzzy_gain, read_fuzzy_gain
from ukctrl.fuzzy.number import Fuzzy
from ukctrl.fuzzy.quartic import positive_root

__all__ = ["Fuzzy", "FuzzyGain", "fuzzy_gain", "positive_root", "read_fuzzy_gain"]
