"""When rows count as dependent, and when as missed."""

from __future__ import annotations

from typing import Annotated

from ukctrl.core.fields import Quantity, spec

Threshold = Annotated[float, Quantity("1", minimum=0.0, open_minimum=True, maximum=1.0)]
"""Fraction above zero, up to 1."""


@spec
class RankPolicy:
    """When a row counts as dependent on others, and when it counts as missed.

    One object for the whole run; results record it with the smallest value kept.
    """

    servo: Threshold = 1e-9
    """A servo row, scaled to unit length, is dependent when less than this is left of it outside
    the span of the others; and lost when motors do less than this to what is left, of what they
    could do were the robot free, ``|A_i| |M^-1 B|`` in lengths measured by the mass matrix."""
    passive: Threshold = 1e-4
    """A direction that passive rows constrain counts as none when its singular value, of rows
    scaled to unit length in mass-weighted coordinates, is less than this; fully from ten times
    this on, and by a smooth weight between. It must sit well above the closure error that
    integration leaves, or a redundant row of a linkage is taken for an independent one."""
    reach: Threshold = 1e-8
    """A row is missed by more than this fraction of its terms: of ``|b|``, and of ``|A| |a|`` of a
    passive one. How the robot moves without inputs does not loosen what servo rows are held to."""


RUN_RANK = RankPolicy()
"""The default policy of a run, whose states carry the errors of their integration."""
RANK = RankPolicy(passive=1e-7)
"""The default policy for plain arrays, which carry rounding alone."""
