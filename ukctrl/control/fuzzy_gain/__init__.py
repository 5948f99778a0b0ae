"""The gain that is best on average over a fuzzy uncertainty, in closed form.

Not a rule base: the law is an ordinary one with a guarantee, and only what is *expected* of it is
taken over a fuzzy number that says how large the uncertainty may be.
"""

from ukctrl.control.fuzzy_gain.gain import FuzzyGain, fuzzy_gain, read_fuzzy_gain
from ukctrl.control.fuzzy_gain.number import Fuzzy
from ukctrl.control.fuzzy_gain.quartic import positive_root

__all__ = ["Fuzzy", "FuzzyGain", "fuzzy_gain", "positive_root", "read_fuzzy_gain"]
