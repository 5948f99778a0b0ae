"""How many threads linear algebra may use.

The matrices of a control loop have a few rows to a few hundred. BLAS starts threads for them all
the same; on a busy machine it then waits milliseconds for work of microseconds, and the last bits
of a run depend on how many cores were free.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep the BLAS of NumPy and SciPy to one thread, in the whole process, while in use."""
    from threadpoolctl import threadpool_limits

    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # else SciPy's begins with one thread anyway
        import scipy.linalg  # noqa: F401 - only a library that is loaded can be limited

    with threadpool_limits(limits=1, user_api="blas"):
        yield
