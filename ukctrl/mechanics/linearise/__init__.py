r"""A robot near a state, as a linear system.

Near a configuration, a velocity and an input, deviations obey $\dot x = A x + B \delta u$ to first
order, with $x = (\delta q, \delta v)$ in the tangent space and $q = q_0 \oplus \delta q$.

Passive constraints leave fewer freedoms than velocities. As many velocities as they allow are
chosen to stand for all, $x = (\delta q_i, \delta v_j)$, and the others follow from the rows,
differentiated once and twice:

$$ \delta q = N_q\, \delta q_i, \qquad \delta v = N_v\, \delta v_j + S\, \delta q_i . $$

$N_q$ keeps the rows that hold positions, among them rows on velocities that integrate, such as the
slip of feet that stick; $N_v$ keeps all of them.

With $r = M a + \mathrm{nle} - f - B u - A_p^\top \lambda$ and $g = A_p a - b_p$ the acceleration
changes by $\delta a = -W\, \delta r - M^{-1} A_p^\top (A_p M^{-1} A_p^\top)^+ \delta g + G\,
\delta u$. Derivatives of rigid bodies
and of springs, dampers and friction in joints are exact; those of plants and forces given by
formulas, of springs between frames, of passive rows and of inputs whose grip varies are central
differences of sixth order along the tangent, good to some $10^{-11}$.
"""

from ukctrl.mechanics.linearise.equilibrium import equilibrium
from ukctrl.mechanics.linearise.free_directions import FreeDirections, free_velocities
from ukctrl.mechanics.linearise.linear_hold import held
from ukctrl.mechanics.linearise.linearization import Linearization, Linearizer, linearize
from ukctrl.mechanics.linearise.outputs import output_matrix

__all__ = [
    "FreeDirections",
    "Linearization",
    "Linearizer",
    "equilibrium",
    "free_velocities",
    "held",
    "linearize",
    "output_matrix",
]
