"""Derivatives by differences."""


def derivative(function, t, step=1e-4):
    """Return the five-point difference quotient of a function of time."""
    a, b, d, e = (function(t + k * step) for k in (-2, -1, 1, 2))
    return (a - 8.0 * b + 8.0 * d - e) / (12.0 * step)
