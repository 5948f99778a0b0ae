r"""What inputs add to the first derivative of a row that they reach, without another motion.

With $f = (v, a)$, $g_j = (0, G_j)$ and $\ddot\phi = A a - b$ along the motion without inputs,

$$ L_{g_j} L_f \phi = A G_j, \qquad
   L_{g_j} L_f^2 \phi = d\ddot\phi \cdot (0, G_j), \qquad
   L_{g_j} L_f^3 \phi = d\ddot\phi \cdot (G_j, \; a_v G_j - \dot G_j), $$

each where the ones before it are zero: then $L_g L_f^3 \phi = (L_g L_f - L_f L_g) L_f^2 \phi$,
which is the derivative of $\ddot\phi$ along the Lie bracket $-[f, g]$. A variation $\xi$ of the
configuration and $w$ of the velocity changes the row by $A \xi$ as long as it lasts, so that

$$ d\ddot\phi \cdot (\xi, w) = \ddot A\, \xi + 2 \dot A\, \dot\xi + A\, \ddot\xi, \qquad
   \dot\xi = w - [v, \xi], \quad
   \ddot\xi = a_q \xi + a_v w - [a, \xi] - [v, \dot\xi], $$

the brackets being those of joints whose freedoms do not commute.
"""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix


def input_lie_derivatives(
    A: Matrix,
    G: Matrix,
    slopes: tuple[Matrix, Matrix],
    brackets: tuple[Matrix, Matrix],
) -> Matrix:
    r"""Return $L_G L_f^{r - 1} \phi$ for r = 2, 3 and 4, shape ``(3, m, nu)``.

    Args:
        A: The rows' matrix and its first and second derivative along the motion without inputs,
            shape ``(3, m, nv)``.
        G: Acceleration per unit input and its derivative, shape ``(2, nv, nu)``.
        slopes: How the acceleration without inputs changes with ``q``, along its tangent, and
            with ``v``, shape ``(nv, nv)`` each.
        brackets: The matrices of $[v, \cdot]$ and $[a, \cdot]$, shape ``(nv, nv)`` each.

    References:
        Isidori, "Nonlinear Control Systems", 1995, section 4.1 and lemma 4.1.1.
    """
    (a_q, a_v), (turning, turning_rate) = slopes, brackets
    push, push_rate = G
    first = A[0] @ push
    w = a_v @ push
    second = 2.0 * A[1] @ push + A[0] @ (w - turning @ push)
    w -= push_rate
    rate = w - turning @ push
    bend = a_q @ push + a_v @ w - turning_rate @ push - turning @ rate
    return np.stack([first, second, A[2] @ push + 2.0 * A[1] @ rate + A[0] @ bend])
