"""The SCARA paper recomputed: what it says, what it misprints, and what it leaves open."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

from tests.papers.paper_claims import kept, number
from tests.shared.command import CLI
from ukctrl_papers.scara import screws

THREE_DIGITS = {"rtol": 5e-3}
"""The numbers below are rounded to three digits."""


@pytest.fixture(scope="module")
def claims():
    """Give the claims as they are kept; that they are still what they were is tested beside."""
    rows = [row for row in kept() if row["paper"] == "scara"]
    return [SimpleNamespace(**row | {"ours": number(row["ours"])}) for row in rows]


def found(claims, where, *parts):
    """Return the one claim about this."""
    some = [
        claim
        for claim in claims
        if claim.where == where and all(part in claim.what for part in parts)
    ]
    (claim,) = some
    return claim


@pytest.mark.parametrize("number", [8, 17, 24, 26, 30, 32, 43, 45])
def test_every_known_misprint_is_shown_with_its_consequence(claims, number):
    (claim,) = [claim for claim in claims if claim.where == f"eq ({number})"]
    assert claim.verdict == "differs: misprint"
    assert claim.printed != claim.ours


@pytest.mark.parametrize("where", ["eq (34)", "eqs (35), (36)", "eq (39)", "eq (49)", "eq (54)"])
def test_the_formulas_that_are_right_agree_with_the_model(claims, where):
    verdicts = {claim.verdict for claim in claims if claim.where == where}
    assert verdicts == {"agrees"}


DRIFTS = {
    "(30, -55, 24)": (5.65e-3, 1.78e-2),
    "(-30, 55, -24)": (7.43e-3, 1.73e-2),
    "(-31, 55, -24)": (1.32e-3, 4.54e-3),
    "(31, -55, 24)": (2.98e-3, 4.18e-3),
    "the exact start, q2 < 0": (1.09e-3, 2.05e-4),
    "the exact start, q2 > 0": (1.09e-3, 2.05e-4),
}
"""Largest x and y errors over 20 s [m]: those of the straight line from each start."""


@pytest.mark.parametrize("start", DRIFTS)
def test_the_drift_from_every_reading_of_the_start_is_that_of_the_straight_line(claims, start):
    exactly = [claim for claim in claims if "ode45" not in claim.what]
    errors = [found(exactly, "Figure 5", f"largest {k} error from {start}") for k in "xy"]
    np.testing.assert_allclose([claim.ours for claim in errors], DRIFTS[start], **THREE_DIGITS)
    assert {claim.verdict for claim in errors} == {"differs: underspecified"}


def test_the_z_error_and_with_it_the_horizon_are_reproduced(claims):
    z = found(claims, "Figure 5", "largest z error")
    assert z.verdict == "agrees"
    np.testing.assert_allclose(z.ours, 0.01, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(found(claims, "Figures 2 to 5", "horizon").ours, 20.0, rtol=1e-9)


def test_the_literal_start_is_impossible(claims):
    free = found(claims, "Figures 2 to 5", "leaves the workspace")
    held = found(claims, "Figures 6 to 10", "leaves the workspace")
    np.testing.assert_allclose([free.ours, held.ours], [2.120, 0.127], rtol=0.0, atol=5e-4)
    assert {free.verdict, held.verdict} == {"differs: misprint"}


@pytest.mark.parametrize(
    ("branch", "torques"),
    [("q2 > 0", [-0.27471, 0.20767, 0.0, 4.905]), ("q2 < 0", [0.27471, -0.20767, 0.0, 4.905])],
)
def test_the_torques_on_the_path_are_those_of_the_closed_form(claims, branch, torques):
    ours = [
        found(claims, "Figure 10, eq (50)", f"Q_c{k}", f"t = 0, {branch}").ours
        for k in (1, 2, 3, 4)
    ]
    np.testing.assert_allclose(ours, torques, rtol=0.0, atol=5e-6)


def test_stabilised_errors_shrink_with_exp_of_minus_a_quarter_t(claims):
    np.testing.assert_allclose(found(claims, "eq (52)").ours, np.exp(-2.5), rtol=1e-3)
    late = found(claims, "Figure 9", "largest x error")
    np.testing.assert_allclose(late.ours, 4.64e-4, **THREE_DIGITS)


@pytest.mark.slow
def test_a_reproduction_that_is_stopped_keeps_what_it_has(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", CLI, "reproduce", "scara", "--out", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60.0
    while not (tmp_path / "out").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)  # somewhere between the imports and the runs, which take seconds
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60.0)
    assert (process.returncode, err) == (1, "")
    assert "stopped by the user; what was computed until then is kept" in out
    found = json.loads((tmp_path / "out" / "reproduce.json").read_text(encoding="utf-8"))
    assert found["interrupted"]
    claims = [claim for paper in found["papers"] for claim in paper["claims"]]
    assert all(claim["verdict"] != "differs" for claim in claims)
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8").endswith("</html>")


@pytest.mark.parametrize("joint", range(4))
def test_the_exponential_of_a_twist_is_that_of_its_matrix(joint):
    twist = screws.TWISTS[joint]
    expected = expm(0.7 * screws.wedge(twist))
    np.testing.assert_allclose(screws.exponential(twist, 0.7), expected, rtol=0.0, atol=1e-14)
