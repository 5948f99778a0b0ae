"""Random paths that begin near a place, of every kind but those of a file."""

from __future__ import annotations

from collections.abc import Sequence

from families import RNG, Table

ANY = (
    "constant", "line", "uniform", "harmonic", "polynomial", "expression", "min_jerk",
    "rest_to_rest", "spline", "repeated", "time_scaled", "stacked",
)  # fmt: skip
SPATIAL = ("circle", "helix", "lemniscate")
SHORT = 0.05
"""How far paths lead, about [m or rad]."""


def path(rng: RNG, at: Sequence[float]) -> Table:
    """Draw a path of so many components."""
    kinds = (*ANY, *SPATIAL, *SPATIAL) if len(at) == 3 else ANY
    kind = str(rng.choice(kinds))
    if kind == "stacked" and len(at) > 1:
        return {"kind": kind, "parts": [path(rng, at[:1]), path(rng, at[1:])]}
    if kind == "time_scaled":
        return {"kind": kind, "path": path(rng, at), "rate": round(rng.uniform(0.5, 2.0), 3)}
    if kind == "repeated":
        moved = _points(rng, at, 2)
        closed = {"kind": "min_jerk", "points": [*moved, moved[0]], "duration": 1.0}
        return {"kind": kind, "path": closed, "period": 1.0}
    return _simple(rng, kind, list(at))


def _simple(rng: RNG, kind: str, at: list[float]) -> Table:
    start, end = _points(rng, at, 2)
    size = round(float(rng.uniform(0.01, SHORT)), 4)
    if kind in SPATIAL:
        length = {"circle": "radius", "helix": "radius"}.get(kind, "half_width")
        more = {"rise": 0.01} if kind == "helix" else {"normal": str(rng.choice(["x", "y", "-z"]))}
        return {"kind": kind, "center": start, length: size, "period": 2.0, **more}
    if kind == "line":
        return {"kind": kind, "start": start, "end": end, "duration": 1.0}
    if kind == "uniform":
        return {"kind": "line", "start": start, "velocity": [0.1 * x for x in _spread(rng, at)]}
    if kind == "harmonic":
        term = {"amplitude": _spread(rng, at), "frequency": 0.7, "phase": 0.3}
        return {"kind": kind, "offset": start, "terms": [term]}
    if kind == "polynomial":
        return {
            "kind": kind,
            "coefficients": [[a, 0.1, x] for a, x in zip(start, end, strict=True)],
        }
    if kind == "expression":
        texts = [f"{a} + {size}*sin(2*t + {k})**2/(1 + t**2)" for k, a in enumerate(start)]
        return {"kind": kind, "components": texts}
    if kind in ("min_jerk", "rest_to_rest", "spline"):
        more = {"still": int(rng.integers(2, 5))} if kind == "rest_to_rest" else {}
        return {"kind": kind, "points": [start, end], "duration": 1.0, **more}
    return {"kind": "constant", "value": start}


def _spread(rng: RNG, at: Sequence[float]) -> list[float]:
    return [round(float(x), 4) for x in rng.uniform(-SHORT, SHORT, len(at))]


def _points(rng: RNG, at: Sequence[float], count: int) -> list[list[float]]:
    first = list(at) if rng.random() < 0.7 else [round(a + 0.01, 4) for a in at]
    rest = [[round(a + x, 4) for a, x in zip(at, _spread(rng, at), strict=True)]]
    return [first, *rest * (count - 1)]


def turn(rng: RNG) -> Table:
    """Draw an orientation."""
    rpy = [round(float(x), 3) for x in rng.uniform(-0.3, 0.3, 3)]
    kind = str(rng.choice(["constant", "rpy", "about_axis", "between"]))
    if kind == "constant":
        return {"kind": kind, "rpy": rpy}
    if kind == "rpy":
        return {"kind": kind, "angles": path(rng, rpy)}
    if kind == "about_axis":
        return {"kind": kind, "axis": "x", "angle": path(rng, [0.1]), "rpy": rpy}
    return {"kind": kind, "rpy": [rpy, [0.0, 0.2, 0.1]], "duration": 1.0}
