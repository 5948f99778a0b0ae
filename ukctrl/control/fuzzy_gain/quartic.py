"""The one positive root of the quartic to which an optimal gain leads."""

from __future__ import annotations

import math


def positive_root(p: float, q: float) -> float:
    r"""Return the one positive root of $\kappa^4 - p\kappa - q$, for $p, q \ge 0$, not both zero.

    Its coefficients change their sign once, so by Descartes' rule there is exactly one. Ferrari:
    with the positive root $y$ of the resolvent $y^3 + qy - p^2/8$ the quartic is a difference of
    squares, $(\kappa^2 + y)^2 = \bigl(\sqrt{2y}\,\kappa + p/2\sqrt{2y}\bigr)^2$, and so

    $$ \kappa = \tfrac12\Bigl(\sqrt{2y} + \sqrt{2p/\sqrt{2y} - 2y}\Bigr), \qquad
       y = \sqrt[3]{\tfrac{p^2}{16} + s} + \sqrt[3]{\tfrac{p^2}{16} - s}, \quad
       s = \sqrt{\tfrac{p^4}{256} + \tfrac{q^3}{27}} . $$

    A step of Newton's takes away the rounding of the differences.
    """
    if p == 0.0:
        return math.pow(q, 0.25)
    # Both scaled to a root near 1, so that no power of them is too large or too small.
    size = max(math.cbrt(p), math.pow(q, 0.25))
    p, q = p / size**3, q / size**4
    half = p * p / 16.0
    s = math.sqrt(half * half + q**3 / 27.0)
    y = math.cbrt(half + s) + math.cbrt(half - s)
    y -= (y**3 + q * y - 2.0 * half) / (3.0 * y * y + q)
    root = math.sqrt(2.0 * y)
    kappa = 0.5 * (root + math.sqrt(max(0.0, 2.0 * p / root - 2.0 * y)))
    for _ in range(2):
        kappa -= (kappa**4 - p * kappa - q) / (4.0 * kappa**3 - p)
    return size * kappa
