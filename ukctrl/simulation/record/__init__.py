"""What is recorded of a sample?

In order: ``row_authority`` (rank, singular values and residual of the servo rows),
``sample_kernels`` (machine code that writes the quantities of one sample), ``recorder`` (which
quantities there are, and their blocks in memory) and ``joint_error`` (a quantity made afterwards).
"""
