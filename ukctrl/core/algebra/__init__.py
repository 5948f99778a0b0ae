"""Small dense linear algebra, compiled, and when its answers count as right.

In order: ``blas_threads`` and ``finite_differences``; ``factorisation`` and ``sparse_products`` (of
matrices that may be almost empty); ``decompositions`` (singular values); ``column_space`` (ranks
whatever the units); ``row_space`` and ``gram_factor`` (rows that lose rank, many independent ones),
``balance`` (units of a matrix), ``stabilisation``; ``rank_policy`` (when rows count as dependent or
missed) and ``solution_checks`` (the errors that name rows); ``input_authority`` (how firmly motors
hold rows), ``gram_input`` and ``least_norm_input`` (what serves them) and ``nearest_input`` (what
comes near); ``bounded_rows`` (rows with bounds), ``active_set_qp`` (the nearest point that obeys
them), ``lexicographic_qp`` (levels of rows that do) and ``task_hierarchy`` (that need not);
``multipliers`` (what rows transmit); ``dynamics_kernels`` (the one equation), ``gram_acceleration``
(under few rows, by their Gram matrix), ``block_diagonal`` (body by body), ``adjoint_input`` (of
large robots) and ``constrained_acceleration`` (which of them).
"""
