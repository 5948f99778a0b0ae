"""Programs: kernels with their arguments, run one after the other by machine code.

In order: ``call`` (a kernel with its arguments), ``program`` (one after the other) and ``kept``
(for each of the robots that they run on).
"""

from ukctrl.core.program.call import Call
from ukctrl.core.program.kept import Kept
from ukctrl.core.program.program import Step, Steps, run

__all__ = ["Call", "Kept", "Step", "Steps", "run"]
