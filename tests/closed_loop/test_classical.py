"""The classical laws beside the servo law, all on one task."""

import numpy as np
import pytest

from ukctrl import Scenario, compare


@pytest.mark.slow
def test_every_classical_law_runs_beside_the_servo_law():
    """With 30 % too little mass: what an integral or an estimate adds, and what it adds it to."""
    classical = [
        "pd-gravity", "pid", "computed-torque", "operational-space", "resolved-acceleration",
        "lqr", "lqi", "tvlqr", "slotine-li", "slotine-li-adaptive",
    ]  # fmt: skip
    short = {"timing.duration": 3.0, "believed": {"mass_scale": 0.7}}
    results = compare(Scenario.load("scara-helix", short), ["servo-gauss", *classical]).results
    assert {result.status for result in results.values()} == {"completed"}
    left = {name: np.abs(result["phi"][-50:]).max() for name, result in results.items()}
    assert left["lqi"] < 0.2 * left["lqr"]
    assert left["slotine-li-adaptive"] < 0.2 * left["slotine-li"]
    np.testing.assert_allclose(left["operational-space"], left["servo-gauss"], rtol=1e-9)
