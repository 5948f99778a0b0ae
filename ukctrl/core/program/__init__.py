"""Programs: kernels with their arguments, run one after the other by machine code.

In order: ``bound_kernel`` (a kernel with its arguments), ``kernel_sequence`` (one after the other),
``robot_buffers`` (what they write, for each of the robots that they run on) and ``memory_image``
(all that they read and write, as memory that can move).
"""

from ukctrl.core.program.bound_kernel import BoundKernel
from ukctrl.core.program.kernel_sequence import KernelSequence, KernelStep, run
from ukctrl.core.program.robot_buffers import RobotBuffers

__all__ = ["BoundKernel", "KernelSequence", "KernelStep", "RobotBuffers", "run"]
