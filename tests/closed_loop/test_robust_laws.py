"""What robust laws are good for, and what they are not: the SCARA on its helix, with the cards."""

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.reports import plot
from ukctrl.simulation.result.verdicts.law_verdicts import relaxation_verdicts

ROBUST = ("servo-sliding", "servo-chen-robust", "servo-adaptive-robust")
SIGNALS = ("surface_error", "surface_bound", "position_error", "position_bound")


def helix(controller, **changes):
    base = Scenario.load("scara-helix", {"timing.duration": 1.0})
    run = simulate(base.replace({"controller": {"use": controller}, **changes}))
    assert run.status == "completed", run.message
    return run


@pytest.fixture(scope="module")
def nominal():
    return {
        "light": helix("servo-baumgarte", believed={"mass_scale": 0.7}),
        "loaded": helix("servo-baumgarte", effect=[payload(0.2)]),
    }


def payload(mass):
    return {"kind": "payload", "frame": "tool", "mass": mass}


@pytest.mark.parametrize("card", ROBUST)
def test_with_a_model_30_percent_too_light_they_keep_closer_at_no_more_effort(card, nominal):
    run = helix(card, believed={"mass_scale": 0.7})
    assert run.metric("peak_phi") < nominal["light"].metric("peak_phi") / 20.0
    assert run.metric("effort") < 1.01 * nominal["light"].metric("effort")


@pytest.mark.parametrize("card", ROBUST)
def test_with_a_payload_that_the_model_does_not_know_they_keep_closer(card, nominal):
    run = helix(card, effect=[payload(0.2)])
    assert run.metric("peak_phi") < nominal["loaded"].metric("peak_phi") / 20.0


def test_beyond_its_assumptions_a_bounded_push_lets_go_and_an_unbounded_one_holds():
    beyond = {"effect": [payload(0.6)]}
    let_go = helix("servo-sliding", **beyond)
    held = helix("servo-sliding", **beyond, **{"controller.feedback.function": {"kind": "power"}})
    assert let_go["position_error"][-1] > 10.0
    assert held["position_error"].max() < 1.5


def test_with_a_right_model_there_is_nothing_to_gain():
    nominal = helix("servo-baumgarte")
    for card in ROBUST:
        run = helix(card)
        np.testing.assert_allclose(run["u"], nominal["u"], rtol=0.0, atol=1e-6)
    assert helix("servo-lyapunov").metric("peak_phi") > 1e-3


def test_noise_and_a_hold_make_them_restless():
    noise = {"kind": "noise", "std": 2e-5, "v_std": 2e-3}
    changes = {"timing.control": 1e-3, "effect": [noise], "timing.duration": 0.3}
    travel = {}
    for card in ("servo-baumgarte", "servo-chen-robust"):
        travel[card] = np.abs(np.diff(helix(card, **changes)["u"], axis=0)).sum()
    assert travel["servo-chen-robust"] > 10.0 * travel["servo-baumgarte"]


@pytest.mark.parametrize("card", [*ROBUST, "servo-lyapunov"])
def test_a_run_records_the_error_and_the_bound_that_was_promised(card, tmp_path):
    run = helix(card, **{"timing.duration": 0.2})
    for name in SIGNALS:
        assert run[name].shape == run.time.shape
    if card == "servo-adaptive-robust":
        assert (run["alpha_hat"] >= 0.0).all()
        assert np.isnan(run["surface_bound"]).all()  # nobody supposed an alpha
    else:
        assert (run["surface_error"] <= run["surface_bound"] + 1e-9).all()


def test_a_sampled_loop_hands_the_memory_of_the_start_from_tick_to_tick():
    off = {"start": {"q": {"q1": 0.0, "q2": 0.9, "q3": -0.6, "q4": 0.05}, "solve": False}}
    held = helix("servo-sliding", **off, **{"timing.control": 1e-3})
    smooth = helix("servo-sliding", **off)
    np.testing.assert_allclose(held["phi"][-1], smooth["phi"][-1], rtol=0.0, atol=1e-4)


def test_a_run_tells_whether_the_promise_was_kept():
    kept = helix("servo-sliding", believed={"mass_scale": 0.9})
    broken = helix("servo-sliding", believed={"mass_scale": 0.3})
    (well,), (badly,) = relaxation_verdicts(kept), relaxation_verdicts(broken)
    assert well.level == "note"
    assert "errors stayed within the law's bounds" in well.text
    assert badly.level == "warning"
    assert "exceeded the law's bound" in badly.text


def test_an_error_is_drawn_with_its_bound_and_a_bound_that_is_unknown_not_at_all():
    known, unknown = helix("servo-chen-robust"), helix("servo-adaptive-robust")
    assert np.isnan(unknown["surface_bound"]).all()
    assert [len(axes.get_lines()) for axes in plot.signals(known).axes] == [2, 2]
    assert [len(axes.get_lines()) for axes in plot.signals(unknown).axes] == [1, 1, 1]
    assert relaxation_verdicts(unknown) == ()
