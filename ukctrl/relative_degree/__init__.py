"""How often a servo row must be differentiated until the input appears."""

from ukctrl.relative_degree.degree import RelativeDegree, advice, explain, relative_degrees

__all__ = ["RelativeDegree", "advice", "explain", "relative_degrees"]
