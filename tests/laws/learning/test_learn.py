"""Trials of one task: beside matrices written by hand, at a predicted rate, and what is refused."""

import html
import json

import numpy as np
import pytest
from scipy.signal import butter, filtfilt, freqz

from ukctrl import (
    InputError,
    Learning,
    Result,
    Scenario,
    compare,
    learn,
    simulate,
    write_learning_result,
)
from ukctrl_laws.learning.learning_page import next_commands

ALPHA, BETA, G = 20.0, 150.0, 9.81
PERIOD, TICKS, SHARE = 0.01, 120, 0.7
ROUNDING = 1e-9
"""Between matrices of 120 ticks and a loop [m, m/s^2]."""


def particle(**changes):
    """Return a mass of 1 kg that believes it has 0.7 kg, on a curve in a vertical plane."""
    base = Scenario.load("projectile")
    path = {"kind": "expression", "components": ["0.2*sin(3*t)", "0.1*cos(2*t)"]}
    table = {
        "title": "Too light a belief",
        "robot": base.robot,
        "servo": ({"kind": "joint_follows", "joints": ["x", "y"], "path": path},),
        "start": {"q": {"x": 0.0, "y": 0.1}, "v": {"x": 0.6, "y": 0.0}},
        "controller": {
            "kind": "servo",
            "feedback": {"kind": "baumgarte", "alpha": ALPHA, "beta": BETA},
        },
        "believed": {"mass_scale": SHARE},
        "timing": {"duration": PERIOD * TICKS, "control": PERIOD},
    }
    return Scenario(**{**table, **changes})


def by_hand(c, row):
    """Return position and velocity errors at the ticks, where the true mass is moved by hand."""
    t = PERIOD * np.arange(TICKS)
    r, dr, ddr = (
        (0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.sin(3 * t)),
        (0.1 * np.cos(2 * t), -0.2 * np.sin(2 * t), -0.4 * np.cos(2 * t)),
    )[row]
    q, v, e = r[0], dr[0], np.empty((2, TICKS))
    for k in range(TICKS):
        e[:, k] = q - r[k], v - dr[k]
        w = ddr[k] - ALPHA * e[1, k] - BETA * e[0, k] + c[k]
        a = SHARE * w - (1.0 - SHARE) * G * row
        q, v = q + PERIOD * v + 0.5 * PERIOD**2 * a, v + PERIOD * a
    return e


def lifted(row):
    """Return the error without a correction, and the matrix from corrections to errors."""
    free = by_hand(np.zeros(TICKS), row)
    columns = [(by_hand(impulse, row) - free).ravel() for impulse in np.eye(TICKS)]
    return free.ravel(), np.column_stack(columns)


@pytest.mark.slow
def test_trials_of_a_mass_are_the_lifted_recursion(tmp_path):
    how = Learning(trials=3, gain=0.4, cutoff=12.0, lead=2)
    practice = learn(particle(), how, folder=tmp_path)
    step = np.eye(TICKS, k=1) - np.eye(TICKS)
    inverse = np.hstack([BETA * np.eye(TICKS), step / PERIOD + ALPHA * np.eye(TICKS)])
    inverse[-1] = inverse[-2]
    ahead = np.eye(TICKS)[np.minimum(np.arange(TICKS) + 2, TICKS - 1)]
    b, a = butter(2, 12.0, fs=1.0 / PERIOD)
    Q = filtfilt(b, a, np.eye(TICKS), axis=0, padtype="even", padlen=8)
    result = simulate(practice.learned)
    for row in range(2):
        free, P = lifted(row)
        c = np.zeros(TICKS)
        for trial in range(1, 4):
            c = Q @ (c - 0.4 * ahead @ inverse @ (free + P @ c))
            file = np.loadtxt(tmp_path / f"after-{trial}.csv", delimiter=",", skiprows=1)
            np.testing.assert_allclose(file[:, 1 + row], c, rtol=0.0, atol=ROUNDING)
        e = (free + P @ c).reshape(2, TICKS)
        np.testing.assert_allclose(result["phi"][:-1, row], e[0], rtol=0.0, atol=ROUNDING)
        np.testing.assert_allclose(result["beta"][:-1, row], e[1], rtol=0.0, atol=ROUNDING)
    assert result.metric("rms_phi") == pytest.approx(practice.errors[-1])


def rate(m, gain, cutoff, h):
    """Return the largest share of an error that a trial leaves, at any frequency."""
    w, Q = freqz(*butter(2, cutoff, fs=1.0 / h), worN=4000, fs=1.0 / h)
    s = 2j * np.pi * w
    k = ALPHA * s + BETA
    return np.max(np.abs(Q) ** 2 * np.abs(1.0 - gain * m * (s**2 + k) / (s**2 + m * k)))


def arm(*effect):
    """Return an arm whose model is 30 % too light, with poles as the mass has them."""
    return Scenario.load("scara-helix", {"controller": {"use": "servo-baumgarte"}}).replace(
        {
            "believed": {"mass_scale": SHARE},
            "controller.feedback": {"kind": "baumgarte", "alpha": ALPHA, "beta": BETA},
            "timing": {"duration": 1.0, "control": 0.002},
            "effect": effect,
        }
    )


@pytest.mark.slow
def test_errors_of_a_slow_motion_fall_by_the_gain_whatever_the_masses(tmp_path):
    practice = learn(arm(), Learning(trials=4, gain=0.6), folder=tmp_path)
    shares = np.divide(practice.errors[1:], practice.errors[:-1])
    assert np.all(shares <= 1.02 * rate(SHARE, 0.6, 20.0, 0.002))
    np.testing.assert_allclose(shares, 0.4, rtol=0.0, atol=0.02)


@pytest.mark.slow
def test_under_an_untold_payload_they_fall_at_least_as_the_lightest_row_says(tmp_path):
    """The lift of 0.5 kg carries 1 kg more."""
    load = {"kind": "payload", "frame": "tool", "mass": 1.0}
    practice = learn(arm(load), Learning(trials=5, gain=0.6), folder=tmp_path)
    shares = np.divide(practice.errors[1:], practice.errors[:-1])
    assert np.all(shares <= rate(SHARE * 0.5 / 1.5, 0.6, 20.0, 0.002))
    assert practice.errors[-1] < 0.1 * practice.errors[0]


def test_an_integral_of_the_feedback_and_a_right_model_leave_nothing_to_learn(tmp_path):
    right = particle(
        believed=None,
        controller={
            "kind": "servo", "feedback": {"kind": "pid", "kp": 300.0, "ki": 900.0, "kd": 30.0},
        },
    )  # fmt: skip
    learn(right, Learning(trials=1, gain=1.0), folder=tmp_path)
    c = np.loadtxt(tmp_path / "after-1.csv", delimiter=",", skiprows=1)[:, 1:]
    ends_of_holds = 0.5 * PERIOD * 5.4  # half a period late, of a jerk of 0.2 * 3^3 m/s^3
    assert np.abs(c).max() < ends_of_holds


@pytest.mark.slow
def test_noise_does_not_pile_up(tmp_path):
    noisy = particle(believed=None, effect=({"kind": "noise", "v_std": 1e-3},)).replace(
        {
            "servo.joint_follows.path": {"kind": "constant", "value": [0.0, 0.1]},
            "start.v": {"x": 0.0},
        }
    )
    learn(noisy, Learning(trials=12, gain=0.5), folder=tmp_path)
    sizes = [
        np.loadtxt(tmp_path / f"after-{k}.csv", delimiter=",", skiprows=1)[:, 1:].std()
        for k in range(1, 13)
    ]
    # In the band c = (1 - gain) c - gain n: its variance is gain / (2 - gain) of the noise's,
    # 4/3 of what one trial leaves.
    assert np.mean(sizes[6:]) < 1.3 * np.sqrt(4.0 / 3.0) * sizes[0]


def test_it_is_learnt_from_what_an_observer_lets_the_law_see(tmp_path):
    seen = particle(
        observer={"kind": "luenberger", "bandwidth": 40.0},
        effect=({"kind": "noise", "std": 1e-3},),
    )
    practice = learn(seen, Learning(trials=1, gain=1.0), folder=tmp_path)
    result = simulate(seen.replace({"timing.sample": PERIOD}))
    assert practice.errors[0] == result.metric("rms_phi")
    t = PERIOD * np.arange(TICKS)
    r = np.column_stack([0.2 * np.sin(3 * t), 0.1 * np.cos(2 * t)])
    dr = np.column_stack([0.6 * np.cos(3 * t), -0.2 * np.sin(2 * t)])
    e, de = result["q_estimated"][:-1] - r, result["v_estimated"][:-1] - dr
    left = np.diff(de, axis=0) / PERIOD + ALPHA * de[:-1] + BETA * e[:-1]
    b, a = butter(2, 20.0, fs=1.0 / PERIOD)
    left = np.vstack([left, left[-1:]])
    c = filtfilt(b, a, -left, axis=0, padtype="even", padlen=5)
    file = np.loadtxt(tmp_path / "after-1.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(file[:, 1:], c, rtol=0.0, atol=ROUNDING)


def late():
    """Return the mass whose inputs are two ticks late."""
    return particle(effect=({"kind": "input_delay", "ticks": 2},))


def test_what_comes_late_makes_trials_diverge_where_too_much_is_learnt(tmp_path):
    """At 25 Hz two ticks turn a correction round, and every trial adds to it."""
    bad = learn(late(), Learning(trials=8, gain=1.9, cutoff=49.0), folder=tmp_path)
    assert not bad.ok
    assert bad.verdicts[0].level == "bad"
    assert "smaller gain or cutoff, or a lead" in bad.verdicts[0].text
    turned = learn(late(), Learning(trials=8, gain=1.4, cutoff=45.0), folder=tmp_path)
    assert [verdict.subject for verdict in turned.verdicts if verdict.level == "warning"] == [
        "cutoff"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{"gain": 1.4, "cutoff": 45.0, "lead": 2}, {"gain": 0.5, "cutoff": 10.0}]
)
def test_a_lead_or_a_lower_cutoff_cures_it(how, tmp_path):
    """Nor does what the first ticks cannot mend grow from trial to trial."""
    good = learn(late(), Learning(trials=12, **how), folder=tmp_path)
    assert good.ok
    assert good.errors[-1] < 0.15 * good.errors[0]
    assert good.errors[-1] <= 1.05 * min(good.errors)


@pytest.mark.slow
def test_the_card_goes_on_practising_and_a_comparison_says_that_it_has(tmp_path):
    practice = learn(particle(), Learning(trials=2), folder=tmp_path)
    card = write_learning_result(practice, tmp_path)
    used = particle().replace({"controller": {"use": str(card)}})
    again = learn(used, Learning(trials=1), folder=tmp_path)
    assert [trial.learnt for trial in again.trials] == [2, 3]
    np.testing.assert_allclose(again.errors[0], practice.errors[-1], rtol=1e-12)
    assert again.errors[1] < again.errors[0]
    found = compare(particle(), ["own", str(card)])
    (verdict,) = (v for v in found.verdicts if v.subject == "knowledge")
    assert "2 trials on the plant" in verdict.text


def test_the_page_has_what_was_learnt_and_commands_that_use_it(tmp_path):
    practice = learn(particle(), Learning(trials=2), folder=tmp_path)
    card = write_learning_result(practice, tmp_path)
    page = (tmp_path / "learn.html").read_text(encoding="utf-8")
    assert practice.verdicts[0].text in page
    for _, command in next_commands(practice, card):
        assert html.escape(command, quote=False) in page
    first, last = (Result.load(tmp_path / name) for name in ("first", "last"))
    used = Scenario.load(tmp_path / "first" / "scenario.toml", {"controller": {"use": str(card)}})
    assert first.metric("rms_phi") == practice.errors[0]
    assert simulate(used).metric("rms_phi") == last.metric("rms_phi") == practice.errors[-1]
    written = json.loads((tmp_path / "learn.json").read_text(encoding="utf-8"))
    assert [trial["learnt"] for trial in written["trials"]] == [0, 1, 2]
    assert practice.verdicts[0].text in practice._repr_html_()
    again = learn(used, Learning(trials=1), folder=tmp_path)
    assert again.name == practice.name
    assert again.card().count("trials on") == again.card().count("after 3 trials") == 1


def test_demands_are_what_the_law_adds_to_the_path(tmp_path):
    """In the last trial the mass does what path, feedback and what was learnt demand of it."""
    practice = learn(particle(believed=None), Learning(trials=1), folder=tmp_path)
    learned, feedback = practice.demands["last"]
    t, run = practice.times, practice.results["last"]
    demand = np.column_stack([-1.8 * np.sin(3 * t), -0.4 * np.cos(2 * t)]) + learned + feedback
    reached = np.diff(run["v"], axis=0) / PERIOD
    np.testing.assert_allclose(reached, demand, rtol=0.0, atol=ROUNDING)


def test_trials_that_are_stopped_keep_what_they_have_learnt(tmp_path):
    def stop(done, asked):
        if done == 2:
            raise KeyboardInterrupt

    practice = learn(particle(), Learning(trials=9), folder=tmp_path, progress=stop)
    assert practice.stopped
    assert not practice.ok
    assert [verdict.subject for verdict in practice.verdicts[:2]] == ["convergence", "stopped"]
    write_learning_result(practice, tmp_path)
    whole = learn(particle(), Learning(trials=2), folder=tmp_path / "whole")
    assert practice.errors == whole.errors
    assert practice.card() == whole.card()


def test_rows_without_positions_are_learnt_by_their_speeds(tmp_path):
    speeds = {
        "kind": "expression",
        "psi": ["v.x - 0.6*cos(3*t)", "v.y + 0.2*sin(2*t)"],
        "unit": "m",
    }
    practice = learn(particle(servo=(speeds,)), Learning(trials=4), folder=tmp_path)
    assert practice.told[0] == "rms_beta"
    assert practice.ok
    write_learning_result(practice, tmp_path)
    assert "rms_beta" in (tmp_path / "trials.csv").read_text(encoding="utf-8")


def test_where_all_is_learnt_or_nothing_is_wrong_it_says_so(tmp_path):
    long = learn(particle(), Learning(trials=15), folder=tmp_path)
    assert "No more to gain" in " ".join(verdict.text for verdict in long.verdicts)
    fails = particle().replace({"believed": {"mass_scale": 1e-9}, "start.v": {"x": 1e9}})
    failed = learn(fails, Learning(trials=3), folder=tmp_path)
    assert "Nothing is learnt yet" in failed.verdicts[0].text
    write_learning_result(failed, tmp_path)
    assert not (tmp_path / "learn_trials.png").exists()


REFUSED = {
    "no ticks": ({"timing": {"duration": 1.0}}, {}, "give timing.control"),
    "another start": (
        {"start": {"q": {"x": 0.0, "y": 0.1}, "spread": 0.1}}, {}, "the same start in every trial",
    ),
    "another plant": (
        {"effect": ({"kind": "mismatch", "mass": 0.1},)}, {}, "the same plant in every trial",
    ),
    "another kind of law": (
        {"controller": {"kind": "computed_torque", "kp": 1.0, "kd": 1.0}}, {}, "of kind 'servo'",
    ),
    "a law on surfaces": (
        {"controller": {"kind": "servo", "feedback": {
            "kind": "sliding", "alpha": 1.0, "beta": 1.0, "rate": 1.0, "box": 0.1, "gain": 10.0,
            "uncertainty": 1.0}}}, {}, "linear in their errors",
    ),
    "too quick": ({}, {"cutoff": 50.0}, "half of the sampling rate, 50 Hz; got 50 Hz"),
    "too short": ({"timing": {"duration": 0.1, "control": 0.01}}, {}, "at least 20 ticks"),
    "too far ahead": ({}, {"lead": 101}, "at least 121 ticks to learn from; got 120"),
    "no gain": ({}, {"gain": 0.0}, "gain: must be"),
    "no trial": ({}, {"trials": 0}, "trials: must be"),
    "no frequency": ({}, {"cutoff": float("nan")}, "cutoff: must be"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "how", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_learnt_is_refused_and_leaves_nothing(changes, how, why, tmp_path):
    with pytest.raises(InputError) as caught:
        learn(particle(**changes), Learning(**how), folder=tmp_path / "none")
    assert why in str(caught.value)
    assert not (tmp_path / "none").exists()


FILES = {
    "other rows": ("t,joints.x\n0,1\n2,1\n", "a column for each servo row"),
    "too short a time": ("t,ROWS\n0,1,1\n1,1,1\n", "is for 0 to 1 s; the run is from 0 to 1.2 s"),
    "words": ("t,ROWS\n0,much,1\n2,1,1\n", "must be a finite number; got 'much'"),
    "infinity": ("t,ROWS\n0,inf,1\n2,1,1\n", "must be a finite number"),
    "backwards": ("t,ROWS\n1,1,1\n0,1,1\n", "must increase"),
    "nothing": ("", "must have a header"),
}


@pytest.mark.parametrize(("text", "why"), FILES.values(), ids=FILES)
def test_a_file_of_something_else_is_refused(text, why, tmp_path):
    from ukctrl import Loop

    rows = ",".join(Loop(particle()).law.stack.names)
    file = tmp_path / "learned.csv"
    file.write_text(text.replace("ROWS", rows))
    with pytest.raises(InputError) as caught:
        Loop(particle().replace({"controller.learned": {"file": str(file)}}))
    assert why in str(caught.value)
