"""Random numbers that are the same every time."""

import numpy as np
import pytest


def seeded(count):
    """Return a fixture of as many generators, one a test; a failure names its seed."""

    @pytest.fixture(name="rng", params=range(count))
    def rng(request):
        return np.random.default_rng(request.param)

    return rng
