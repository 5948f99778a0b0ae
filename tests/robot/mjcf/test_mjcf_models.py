"""MJCF files beside numbers that MuJoCo 4.0.1 gave for them: one file for each thing it can say.

``models.json`` holds a file, what it includes, and of a plain ``mujoco.MjModel`` at one state
``qpos``, ``qvel``, the mass matrix, ``qfrc_bias``, ``qfrc_passive`` (with what motors carry of
``gravcomp``), ranges, and where bodies and sites are. Nothing of it comes from ukctrl.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from extras import needs
from scipy.spatial.transform import Rotation

from ukctrl import Robot

pytestmark = needs("mujoco")
MODELS = json.loads(Path(__file__).with_name("models.json").read_text(encoding="utf-8"))
FREE, BALL = 0, 1


def loaded(name, folder):
    case = MODELS[name]
    for file, text in case["files"].items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    (folder / "model.xml").write_text(case["xml"], encoding="utf-8")
    return Robot.load(folder / "model.xml")


def ours(case):
    """Return q, v, the matrix that makes our velocities of MuJoCo's, and its rate times them."""
    q, v = np.array(case["qpos"]), np.array(case["qvel"])
    T, rate, at, dof = np.eye(len(v)), np.zeros(len(v)), 0, 0
    for kind in case["types"]:
        if kind in (FREE, BALL):
            begin = at + 3 * (kind == FREE)
            q[begin : begin + 4] = np.roll(q[begin : begin + 4], -1)
        if kind == FREE:
            R = Rotation.from_quat(q[at + 3 : at + 7]).as_matrix()
            T[dof : dof + 3, dof : dof + 3] = R.T
            rate[dof : dof + 3] = -np.cross(v[dof + 3 : dof + 6], R.T @ v[dof : dof + 3])
        at, dof = at + (7, 4, 1, 1)[kind], dof + (6, 3, 1, 1)[kind]
    return q, T @ v, T, rate


@pytest.mark.parametrize("name", MODELS)
def test_a_file_is_read_as_mujoco_reads_it(name, tmp_path):
    case, robot = MODELS[name], loaded(name, tmp_path)
    assert not [f for f in robot.audit if f.code.endswith("_told") and f.level == "warning"]
    q, v, T, rate = ours(case)
    assert len(v) == robot.nv
    s = robot.snapshot(q, v)
    size = len(v)
    M, bias, passive = (np.array(case[key]) for key in ("M", "bias", "passive"))
    np.testing.assert_allclose(T.T @ s.M @ T, M.reshape(size, size), rtol=1e-9, atol=1e-10)
    # What acts altogether; how rotors of a free joint are counted is a matter of taste.
    total = T.T @ (s.M @ rate + s.nle - s.f)
    np.testing.assert_allclose(total, bias - passive, rtol=1e-9, atol=1e-9)
    weight = sum(body.mass for body in robot.model.inertias)
    np.testing.assert_allclose(weight, case["mass"], rtol=1e-12)
    for called, place in case["places"].items():
        name_here = called.removeprefix("site ")
        if called.startswith("site ") and name_here in case["places"]:
            name_here += "_site"
        frame = s.frame(name_here)
        np.testing.assert_allclose(frame.position, place[:3], atol=1e-10)
        np.testing.assert_allclose(frame.rotation.ravel(), place[3:], atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_ranges_names_and_the_neutral_are_those_of_the_file(name, tmp_path):
    case, robot = MODELS[name], loaded(name, tmp_path)
    told = {finding.code for finding in robot.audit}
    wanted = [None if "range_off" in told else pair for pair in case["range"]]
    found = [
        [robot.q_lower[block.iq], robot.q_upper[block.iq]]
        if np.isfinite(robot.q_lower[block.iq])
        else None
        for block in robot.blocks
    ]
    assert found == [pair and pytest.approx(pair, rel=1e-12) for pair in wanted]
    for given, block in zip(case["joints"], robot.blocks, strict=True):
        assert given in ("", block.name)
    case["qpos"] = case["qpos0"]
    np.testing.assert_allclose(robot.neutral, ours(case)[0], atol=1e-12)
