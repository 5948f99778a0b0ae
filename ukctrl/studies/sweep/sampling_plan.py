"""Which samples a study has: a grid, random points, a Sobol sequence, or Saltelli's design."""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, final, get_args

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import InputError, unknown_name
from ukctrl.simulation.result.atomic_files import attributes_of
from ukctrl.studies.batch.run_summary import point_rng, sample_seed
from ukctrl.studies.sweep.factor import Factor

Design = Literal["grid", "random", "sobol", "saltelli"]
DESIGNS: tuple[Design, ...] = get_args(Design)
EXTENSIBLE_DESIGNS: tuple[Design, ...] = ("random", "sobol")
"""Designs whose first points do not depend on how many there are."""
DEFAULT_POINTS = 64
"""Points of a design that no one has given a number for."""
MAX_SAMPLES = 10_000_000
"""More samples than this are a typing error."""
SEED_PATH = "seed"
"""The path of the scenario's seed."""


@final
@dc.dataclass(frozen=True, kw_only=True)
class SamplingPlan:
    r"""The samples of a study, by their number.

    A sample is a point of the design and a repeat of it, repeats first:
    ``sample = point * repeats + repeat``. What a sample is depends on its number and the plan and
    on nothing else.

    | design | points |
    |---|---|
    | ``grid`` | every combination of the factors' values, the last factor first |
    | ``random`` | $n$ independent ones |
    | ``sobol`` | the first $n$ of a scrambled Sobol sequence |
    | ``saltelli`` | $n(d+2)$: the $n$ rows of $A$, of $B$, then of $A_B^{(1)} \ldots A_B^{(d)}$ |

    For Saltelli's design $A$ and $B$ are the two halves of a Sobol sequence in $2d$ dimensions,
    and $A_B^{(i)}$ is $A$ with its column $i$ from $B$, in the order that
    ``scipy.stats.sobol_indices`` takes.

    References:
        Saltelli et al., "Variance based sensitivity analysis of model output. Design and estimator
        for the total sensitivity index", Comput. Phys. Commun. 181, 2010.
    """

    factors: tuple[Factor, ...]
    design: Design
    n: int
    """Points of the design; for ``saltelli`` the rows of one matrix."""
    seed: int
    """What the points and the seeds of the samples are drawn from."""
    repeats: int = 1
    """Runs of each point, each with a seed of its own."""

    @staticmethod
    def of(
        factors: Sequence[Factor],
        *,
        design: str | None = None,
        n: int | None = None,
        seed: int = 0,
        repeats: int = 1,
    ) -> SamplingPlan:
        """Return a plan, with what is not given chosen from what is.

        Without a design, factors that all have so many values make a grid where ``n`` is not
        given, and others a Sobol sequence.

        Raises:
            InputError: The arguments contradict each other, or name no design.
        """
        if design is not None and design not in DESIGNS:
            raise unknown_name("design", design, DESIGNS)
        listed = all(factor.spread.grid_values() is not None for factor in factors)
        usual = "random" if not factors else "grid" if listed and n is None else "sobol"
        chosen = next(name for name in DESIGNS if name == (design or usual))
        if chosen == "grid":
            n = _grid_size(factors, n)
        elif n is None:
            n = DEFAULT_POINTS if factors else 1
        return SamplingPlan(factors=tuple(factors), design=chosen, n=n, seed=seed, repeats=repeats)

    def __post_init__(self) -> None:
        paths = [factor.path for factor in self.factors]
        for number, path in enumerate(paths):
            for peer in paths[:number]:
                if path == peer:
                    raise InputError(f"'{path}' is varied twice; give all its values at once.")
                if path.startswith(f"{peer}.") or peer.startswith(f"{path}."):
                    inner, outer = sorted((path, peer), key=len, reverse=True)
                    raise InputError(
                        f"'{inner}' lies in '{outer}', which is varied as a whole; vary one of "
                        "them."
                    )
        for name, value in (("n", self.n), ("repeats", self.repeats)):
            if value < 1:
                raise InputError(f"{name} must be at least 1; got {value}.")
        if self.seed < 0:
            raise InputError(f"the study's seed must be zero or positive; got {self.seed}.")
        if self.design in ("sobol", "saltelli", "grid") and not paths:
            raise InputError(f"design '{self.design}' needs something to vary; give --vary.")
        if self.repeats > 1 and SEED_PATH in paths:
            raise InputError("repeats draw seeds of their own; do not vary 'seed' with them.")
        if self.design == "saltelli" and self.n & (self.n - 1):
            near = 2 ** round(math.log2(self.n))
            raise InputError(
                f"design 'saltelli' needs a power of two for n, such as {near}; got {self.n}."
            )
        if self.count > MAX_SAMPLES:
            raise InputError(f"a study must have at most {MAX_SAMPLES} samples; got {self.count}.")

    @property
    def points(self) -> int:
        """How many points the design has."""
        return self.n * (len(self.factors) + 2) if self.design == "saltelli" else self.n

    @property
    def count(self) -> int:
        """How many samples there are."""
        return self.points * self.repeats

    def values(self, sample: int) -> dict[str, object]:
        """Return the values of a sample, by path."""
        point = sample // self.repeats
        if self.design == "grid":
            index = np.unravel_index(point, [len(levels) for levels in self._levels])
            return {
                factor.path: levels[int(k)]
                for factor, levels, k in zip(self.factors, self._levels, index, strict=True)
            }
        coordinates = self._unit_point(point)
        return {
            factor.path: factor.spread.quantile(float(x))
            for factor, x in zip(self.factors, coordinates, strict=True)
        }

    def seed_of(self, sample: int) -> int:
        """Return the seed that the scenario has in a sample."""
        return self._seed(sample, self.values(sample))

    def _seed(self, sample: int, values: Mapping[str, object]) -> int:
        seed = values.get(SEED_PATH)
        return seed if isinstance(seed, int) else sample_seed(self.seed, sample)

    def scenario_changes(self, sample: int) -> dict[str, object]:
        """Return what to change in the base scenario for a sample, by path."""
        values = self.values(sample)
        return cards_first({SEED_PATH: self._seed(sample, values), **values})

    @functools.cached_property
    def _levels(self) -> tuple[Sequence[object], ...]:
        return tuple(factor.spread.grid_values() or () for factor in self.factors)

    def _unit_point(self, point: int) -> Sequence[float] | NDArray[np.float64]:
        """Return where a point lies in the unit cube."""
        if not self.factors:
            return ()
        if self.design == "random":
            return point_rng(self.seed, point).random(len(self.factors))
        if self.design == "sobol":
            coordinates: NDArray[np.float64] = self._sobol_points[point]
            return coordinates
        matrix, row = divmod(point, self.n)
        count = len(self.factors)
        A, B = self._sobol_points[row, :count], self._sobol_points[row, count:]
        if matrix < 2:
            return (A, B)[matrix]
        coordinates = A.copy()
        coordinates[matrix - 2] = B[matrix - 2]
        return coordinates

    @functools.cached_property
    def _sobol_points(self) -> NDArray[np.float64]:
        count = len(self.factors) * (2 if self.design == "saltelli" else 1)
        return sobol_points(count, self.n, np.random.SeedSequence(self.seed))

    def is_extended_by(self, candidate: SamplingPlan) -> bool:
        """Return whether another plan has all samples of this one, and perhaps more."""
        grown = self.design in EXTENSIBLE_DESIGNS and candidate.n >= self.n
        mine = dc.replace(self, n=candidate.n) if grown else self
        return mine.to_dict() == candidate.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-able data."""
        factors = [factor.to_dict() for factor in self.factors]
        plain = attributes_of(self, "design", "n", "seed", "repeats")
        return {"factors": factors, **plain, "samples": self.count}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a plan back from its data."""
        return cls(
            factors=tuple(Factor.from_dict(entry) for entry in data["factors"]),
            design=data["design"],
            n=int(data["n"]),
            seed=int(data["seed"]),
            repeats=int(data["repeats"]),
        )


def sobol_points(
    dimension: int, count: int, seed: int | Sequence[int] | np.random.SeedSequence
) -> NDArray[np.float64]:
    """Return the first points of a scrambled Sobol sequence, shape ``(count, dimension)``."""
    from scipy.stats import qmc

    # A power of two: the first points are the same for every number of them.
    sequence = qmc.Sobol(dimension, rng=np.random.default_rng(seed))
    points: NDArray[np.float64] = sequence.random_base2(max(count - 1, 0).bit_length())
    return points[:count]


def cards_first(changes: Mapping[str, object]) -> dict[str, object]:
    """Return changes with other cards before what is changed in them."""
    return dict(sorted(changes.items(), key=lambda item: not item[0].endswith(".use")))


def _grid_size(factors: Sequence[Factor], n: int | None) -> int:
    """Return how many points a grid has.

    Raises:
        InputError: A factor has no number of values, or the number of points was given too.
    """
    size = 1
    for factor in factors:
        levels = factor.spread.grid_values()
        if levels is None:
            raise InputError(
                f"design 'grid' needs to know how many values '{factor.path}' takes; give them as "
                "a list, or their number as in 1:10:5."
            )
        size *= len(levels)
    if n is not None:
        raise InputError(
            f"a grid has as many points as its factors have combinations, {size}; leave out n, or "
            "choose the design random or sobol."
        )
    return size
