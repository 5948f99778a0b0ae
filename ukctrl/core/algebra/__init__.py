"""Small dense linear algebra, compiled, and when its answers count as right.

The parts, each on those before it: ``compiled`` (how functions are compiled), ``threads`` and
``differences``; ``factorisation``; ``row_space`` and ``priorities`` (rows that lose rank, rows in
levels); ``stabilisation`` and ``kernels`` (the one equation); ``kernels_large`` (the same for many
freedoms) and ``answer_checks`` (ranks, misses, the errors that name rows).
"""
