"""The gain of `ChenRobust` that costs least on average over a fuzzy uncertainty.

In order: ``fuzzy_gain`` (what gains cost), ``fuzzy_gain_design`` (of a scenario: card, curve and
figure), ``command`` (the work of ``ukctrl tune --fuzzy``).
"""
