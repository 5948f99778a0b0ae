"""Programs: kernels with their arguments, run one after the other by machine code.

In order: ``call`` (a kernel with its arguments) and ``program`` (one after the other).
"""

from ukctrl.core.program.call import Call
from ukctrl.core.program.program import Step, Steps, as_step, run

__all__ = ["Call", "Step", "Steps", "as_step", "run"]
