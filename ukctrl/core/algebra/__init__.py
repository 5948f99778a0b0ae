"""Small dense linear algebra, compiled, and when its answers count as right.

In order: ``threads`` and ``differences``; ``factorisation`` and ``products`` (of matrices that may
be almost empty); ``span`` (ranks whatever the units); ``row_space`` and ``row_gram`` (rows that
lose rank, many independent ones), ``balance`` (units of a matrix), ``stabilisation``;
``rank_policy`` (when rows count as dependent or missed) and ``answer_checks`` (the errors that name
rows); ``grip`` (how firmly motors hold rows), ``clear_input`` and ``least_input`` (what serves
them) and ``nearest_input`` (what comes near); ``room`` (rows with bounds), ``nearest_within`` (the
nearest point that obeys them), ``lexicographic`` (levels of rows that do) and ``priorities`` (that
need not); ``multipliers`` (what rows transmit); ``kernels`` (the one equation), ``clear_answer``
(under few rows, by their Gram matrix), ``separate`` (body by body), ``rows_first`` (of large
robots) and ``constrained`` (which of them).
"""
