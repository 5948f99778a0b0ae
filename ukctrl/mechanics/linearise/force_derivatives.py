r"""How applied forces change with the state, in closed form where they have one.

| force | $\partial f/\partial \delta q$ | $\partial f/\partial v$ |
|---|---|---|
| damper $-d\,v$ | | $-d$ |
| dry friction $-c \tanh(v/w)$ | | $-(c/w)\,(1 - \tanh^2(v/w))$ |
| joint spring $-k\,(q - q_0)$ | $-k$ | |
| elastic joint $\pm(K(\theta - q) + D(\dot\theta - \dot q))$ | $\pm K$ | $\pm D$ |

Springs between frames, formulas and what effects add are left to differences.
"""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.robot import ElasticJoints, Snapshot
from ukctrl.robot.forces import Dampers, Forces, Friction, JointSprings, Term

EXACT = (Dampers, Friction, JointSprings, ElasticJoints)


def parted(forces: Forces) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Return the forces with derivatives in closed form, and the others."""
    exact = tuple(term for term in forces.terms if isinstance(term, EXACT))
    return exact, tuple(term for term in forces.terms if not isinstance(term, EXACT))


def derivatives(terms: tuple[Term, ...], snapshot: Snapshot) -> tuple[Matrix, Matrix]:
    """Return how the sum of forces in closed form changes with ``dq`` and ``v``.

    Args:
        terms: The forces, of the kinds of `EXACT`.
        snapshot: The state.
    """
    n, v = len(snapshot.v), snapshot.v
    by_q, by_v = np.zeros((n, n)), np.zeros((n, n))
    for term in terms:
        match term:
            case Dampers():
                by_v -= np.diag(term.damping)
            case Friction():
                slope = term.level / term.scale * (1.0 - np.tanh(v[term.dofs] / term.scale) ** 2)
                np.subtract.at(by_v, (term.dofs, term.dofs), slope)
            case JointSprings():
                np.subtract.at(by_q, (term.dofs, term.dofs), term.stiffness)
            case ElasticJoints():
                for rate, gain in ((by_q, term.stiffness), (by_v, term.damping)):
                    rate[term.links, term.motors] += gain
                    rate[term.motors, term.links] += gain
                    rate[term.links, term.links] -= gain
                    rate[term.motors, term.motors] -= gain
    return by_q, by_v
