r"""Feedback: what row acceleration a servo controller asks for.

The rows say $A a = b$ for the exact motion. A feedback replaces $b$ by a demand that also brings an
error back. One convention of gains everywhere,

$$ \ddot\phi + \alpha \dot\phi + \beta \phi = 0, $$

so a natural frequency $\omega$ and a damping ratio $\zeta$ give $\alpha = 2 \zeta \omega$ and
$\beta = \omega^2$. A nonholonomic row has no $\phi$; its velocity error obeys $\dot\psi + \alpha
\psi = 0$.

The linear ones and `IntegralSliding` look at the rows alone. `Sliding`, `ChenRobust`,
`AdaptiveRobust` and `Lyapunov` reckon with a model that is wrong, and promise a bound of the error,
which a run records.

In order:

1. ``feedback``: the base class, bound to rows; what it asks, remembers and promises.
2. ``linear_feedback``: exact, Baumgarte, PID, first order.
3. ``sliding_surface``: the error of velocity level, and how it decays.
4. ``odd_functions``, ``sliding_mode``: a box for errors. ``integral_sliding_mode``: a bounded
   integral.
5. ``chen_robust``: a bound that is known, or learnt. ``lyapunov``: one row for all.
6. ``model_mismatch``: how wrong a model is, for their bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.control.feedback.feedback import Feedback
from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.kind_registry import classes_by_kind, union_of_kinds

if TYPE_CHECKING:
    AnyFeedback = Feedback
else:
    AnyFeedback = union_of_kinds(
        with_entry_points("feedback", Feedback, classes_by_kind(__name__, Feedback))
    )
"""Any feedback of the catalogue."""
