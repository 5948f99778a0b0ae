"""`check` puts the cause first: one cause, what helps, and what follows from it, folded."""

import json

import pytest

from ukctrl import Scenario, check
from ukctrl.analysis.check.check_result import Diagnostic
from ukctrl.analysis.check.diagnostics import CAUSED_BY, root_causes
from ukctrl.analysis.internal_dynamics.internal_verdict import null_space_advice
from ukctrl.cli import main

ARM = """
title = "Three links, a path for the tool alone"
robot = "arm.urdf"
start = { q = { j1 = "20*deg", j2 = "50*deg", j3 = "30*deg" } }
timing = { duration = 8.0, control = 0.001 }
controller = { use = "servo-baumgarte" }

[[servo]]
kind = "point_follows"
frame = "tool"
axes = "xy"
path = { kind = "expression", components = ["0.45 + 0.15*sin(pi*t/2)", "0.35 + 0.08*sin(pi*t)"] }
"""


def arm_urdf(effort=40):
    """Three links of 0.4 m in the plane, each a rod of 1 kg."""
    links = "".join(
        f"""<link name='l{k}'><inertial><origin xyz='0.2 0 0'/><mass value='1'/>
        <inertia ixx='0.001' iyy='0.013' izz='0.013' ixy='0' ixz='0' iyz='0'/></inertial></link>
        <joint name='j{k}' type='revolute'><parent link='{"base" if k == 1 else f"l{k - 1}"}'/>
        <child link='l{k}'/><origin xyz='{0 if k == 1 else 0.4} 0 0'/><axis xyz='0 0 1'/>
        <limit lower='-3.1' upper='3.1' effort='{effort}' velocity='6'/></joint>"""
        for k in (1, 2, 3)
    )
    tool = """<link name='tool'/><joint name='flange' type='fixed'><parent link='l3'/>
    <child link='tool'/><origin xyz='0.4 0 0'/></joint>"""
    return f"<robot name='arm'><link name='base'/>{links}{tool}</robot>"


@pytest.fixture
def checked(tmp_path, monkeypatch, capfd):
    """Run ``ukctrl check`` on the arm or a scenario of the catalogue; return what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "1000")  # a sentence, a line
    (tmp_path / "arm.urdf").write_text(arm_urdf(), encoding="utf-8")
    (tmp_path / "arm.toml").write_text(ARM, encoding="utf-8")

    def run(*arguments):
        with pytest.raises(SystemExit):
            main(("check", *arguments))
        return capfd.readouterr().out

    return run


def test_a_row_that_no_motor_reaches_is_one_problem_with_its_cure(checked):
    out = checked("two-mass-spring-far")
    graves = [line for line in out.splitlines() if line.startswith(("problem", "warning"))]
    assert len(graves) == 1
    assert "no motor accelerates row 'far.x2': its relative degree is 4" in graves[0]
    assert 'kind = "io_linearisation"' in graves[0]
    assert "2 consequences: see --all" in out
    assert "the motors hold 0 of 1" not in out


@pytest.mark.slow
def test_all_shows_what_follows_and_json_keeps_everything(checked):
    out = checked("two-mass-spring-far", "--all")
    assert "so problem: the motors hold 0 of 1 independent servo rows" in out
    found = json.loads(checked("two-mass-spring-far", "--json"))
    assert len(found["problems"]) == 3
    first, *_ = found["causes"]
    assert first["text"] == found["problems"][0]
    assert [each["text"] for each in first["follows"]] == found["problems"][1:]


@pytest.mark.slow
def test_what_a_free_joint_runs_into_follows_from_its_running_away(checked):
    out = checked("arm.toml", "--set", "start.solve=true", "--all")
    lines = [line for line in out.splitlines() if line.startswith(("problem", "warning"))]
    assert len(lines) == 1
    assert null_space_advice() in lines[0]
    assert "so warning: joint 'j3' must move at" in out
    # and as it is advised, it stays
    lines = null_space_advice().removeprefix("give ").replace(" = ", "=").split(" and ")
    cured = [argument for line in lines for argument in ("--set", line)]
    assert checked("arm.toml", "--set", "start.solve=true", *cured).startswith("arm: ready\n")


@pytest.mark.slow
def test_what_a_start_off_the_path_takes_follows_from_the_start(checked):
    damped = '--set=controller.allocation.null_space={kind="damping",gain=1.0}'
    out = checked("arm.toml", damped, "--all")
    lines = [line for line in out.splitlines() if line.startswith(("problem", "warning"))]
    assert len(lines) == 1
    assert "the start is off the constraints" in lines[0]
    assert "set start.solve = true" in lines[0]
    assert "on the way from the start back to the rows" in out
    # The same arm, the same path: only the start makes the warning.
    assert checked("arm.toml", damped, "--set", "start.solve=true").startswith("arm: ready\n")


def test_a_place_that_the_path_asks_for_is_no_effect_of_weak_motors():
    assert "missed" in CAUSED_BY["limits"]
    assert "missed" not in CAUSED_BY["place"]


@pytest.mark.slow
def test_what_happens_before_the_motion_ends_is_no_effect_of_its_end():
    """The arm is out of reach at 1.38 s; at 0.3 s it was not."""
    along = check(Scenario.load("stretched-arm")).motion
    end = Diagnostic("bad", "motion", "out of reach", None)
    early, late = (Diagnostic("warning", "limits", f"at {t}", t) for t in (0.3, 1.37))
    found = root_causes([early, end, late], along)
    assert [cause.text for cause in found] == ["out of reach", "at 0.3"]
    assert found[0].follows == (late,)


@pytest.mark.slow
def test_a_cause_is_as_grave_as_what_follows_from_it():
    along = check(Scenario.load("stretched-arm")).motion
    note = Diagnostic("note", "off", "the start is off", None)
    over = Diagnostic("warning", "approach", "too much", 0.0)
    assert [cause.level for cause in root_causes([note, over], along)] == ["warning"]


def test_every_subject_that_is_a_cause_has_causes_of_its_own_or_none_at_all():
    """A chain ends: what is named as a cause does not come back to where it began."""

    def reaches(subject, goal, seen=()):
        below = [cause for cause in CAUSED_BY.get(subject, ()) if cause != subject]
        return any(
            cause == goal or (cause not in seen and reaches(cause, goal, (*seen, cause)))
            for cause in below
        )

    assert not [subject for subject in CAUSED_BY if reaches(subject, subject)]
