"""How often servo rows must be differentiated until the inputs appear: each, and all together.

In order: ``advice``, ``derivative_array`` (rows and their derivatives in one array), ``decoupling``
(channels made independent) and ``step_response``; ``vector_degree``;
``row_relative_degree``.
"""

from ukctrl.mechanics.relative_degree.advice import (
    HIGHEST_OF_DAE,
    SERVO_ADVICE,
    elastic_kinds,
    recommend_law,
)
from ukctrl.mechanics.relative_degree.decoupling import (
    Decoupling,
    decoupling,
    decoupling_rank,
    direct_decoupling,
)
from ukctrl.mechanics.relative_degree.derivative_array import DerivativeArray
from ukctrl.mechanics.relative_degree.row_relative_degree import (
    RelativeDegree,
    advice,
    explain_unreachable_rows,
    relative_degrees,
    shared_channel_degree,
)
from ukctrl.mechanics.relative_degree.vector_degree import (
    VectorRelativeDegree,
    vector_relative_degree,
)

__all__ = [
    "HIGHEST_OF_DAE",
    "SERVO_ADVICE",
    "Decoupling",
    "DerivativeArray",
    "RelativeDegree",
    "VectorRelativeDegree",
    "advice",
    "decoupling",
    "decoupling_rank",
    "direct_decoupling",
    "elastic_kinds",
    "explain_unreachable_rows",
    "recommend_law",
    "relative_degrees",
    "shared_channel_degree",
    "vector_relative_degree",
]
