"""Seeds of repeats and samples: from a seed and a number, and from nothing else."""

from __future__ import annotations

import numpy as np

_REPEATS, _TRAINING, _SAMPLES, _POINTS, _HELD_OUT = range(5)


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat; that of the first, number 0, is the scenario's own."""
    return seed if repeat == 0 else _drawn(seed, _REPEATS, repeat)


def training_seed(seed: int, number: int = 0) -> int:
    """Return the seed of one of the plants that gains are tuned on, which no repeat has."""
    return _drawn(seed, _TRAINING, number)


def held_out_seed(seed: int, number: int) -> int:
    """Return the seed of a plant that tuned gains are judged on, on which none were tuned."""
    return _drawn(seed, _HELD_OUT, number)


def sample_seed(seed: int, sample: int) -> int:
    """Return the seed of a sample of a study, given the study's."""
    return _drawn(seed, _SAMPLES, sample)


def point_generator(seed: int, point: int) -> np.random.Generator:
    """Return the random numbers that a point of a study is drawn from, given the study's seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_POINTS, point)))


def _drawn(seed: int, purpose: int, number: int) -> int:
    sequence = np.random.SeedSequence(seed, spawn_key=(purpose, number))
    return int(sequence.generate_state(1)[0])
