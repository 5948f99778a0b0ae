"""Seeds of repeats: from the scenario's own, the same for every controller."""

from __future__ import annotations

import numpy as np

_REPEATS, _TRAINING = 0, 1


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat; that of the first, number 0, is the scenario's own."""
    return seed if repeat == 0 else _drawn(seed, _REPEATS, repeat)


def training_seed(seed: int) -> int:
    """Return the seed that gains are tuned on, which no repeat has."""
    return _drawn(seed, _TRAINING, 0)


def _drawn(seed: int, purpose: int, number: int) -> int:
    sequence = np.random.SeedSequence(seed, spawn_key=(purpose, number))
    return int(sequence.generate_state(1)[0])
