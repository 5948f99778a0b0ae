"""Small dense linear algebra, compiled, and when its answers count as right.

In order: ``threads`` and ``differences``; ``factorisation`` and ``products`` (of matrices that may
be almost empty); ``span`` (ranks whatever the units); ``grip`` (how firmly motors hold rows),
``least_input`` (what serves them) and ``nearest_input`` (what comes near); ``row_space`` and
``priorities`` (rows that lose rank, rows in levels); ``multipliers`` (what rows transmit);
``row_gram`` (many independent rows); ``stabilisation``, ``kernels`` and ``constrained`` (the one
equation); ``rank_policy`` (when rows count as dependent or missed) and ``answer_checks`` (the
errors that name rows).
"""
