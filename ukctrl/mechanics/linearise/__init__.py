r"""A robot near a state, as a linear system.

Near a configuration, a velocity and an input, deviations obey $\dot x = A x + B \delta u$ to first
order, with $x = (\delta q, \delta v)$ in the tangent space and $q = q_0 \oplus \delta q$.

In order: ``equilibrium``, ``constraint_null_space`` (what passive constraints leave),
``plant_jacobians`` (what has derivatives in closed form), ``directional_differences`` (the rest),
``deviation_map`` and ``linear_system_kernels``, which put them together; ``linearization``, which
says how.
"""

from ukctrl.mechanics.linearise.constraint_null_space import (
    ConstraintNullSpace,
    independent_velocities,
)
from ukctrl.mechanics.linearise.equilibrium import equilibrium
from ukctrl.mechanics.linearise.linearization import (
    Linearization,
    Linearizer,
    linearize,
    output_matrix,
    zero_order_hold,
)

__all__ = [
    "ConstraintNullSpace",
    "Linearization",
    "Linearizer",
    "equilibrium",
    "independent_velocities",
    "linearize",
    "output_matrix",
    "zero_order_hold",
]
