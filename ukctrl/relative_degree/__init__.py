"""How often a servo row must be differentiated until the input appears."""

from ukctrl.relative_degree.degree import PLANNED, RelativeDegree, explain, relative_degrees

__all__ = ["PLANNED", "RelativeDegree", "explain", "relative_degrees"]
