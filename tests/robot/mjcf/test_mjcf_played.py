"""The motor inputs of a run, played in MuJoCo itself, make the same motion there."""

import sys

import pytest
from extras import needs

from tests.shared.documents import ROOT

pytestmark = needs("mujoco")

ARM = """<mujoco>
  <default><joint damping="0.3"/><geom mass="1" contype="0" conaffinity="0"/></default>
  <worldbody>
    <body><joint name="a" axis="0 1 0" ref="20" armature="0.1"/><geom size=".1" pos=".3 0 0"/>
      <body pos=".5 0 0">
        <joint name="b" axis="0 1 0" {friction}/><geom size=".1" pos=".2 0 .1"/>
        <site name="tip" pos=".3 0 0" euler="0 40 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="a" kp="50" kv="3"/>
    <motor name="fan" site="tip" gear="2 0 1 0 0 0" ctrlrange="-90 90"/>
  </actuator>
  {more}
</mujoco>"""
SCENARIO = """
title = "An arm whose tip has a fan"
robot = "arm.xml"
[start]
q = { a = "30*deg", b = "-50*deg" }
[[servo]]
kind   = "joint_follows"
joints = ["a", "b"]
path   = { kind = "min_jerk", points = [["30*deg", "-50*deg"], [0.8, -0.4]], duration = 0.1 }
[controller]
use = "servo-baumgarte"
[timing]
duration = 0.1
control  = 0.002
sample   = 0.002
"""


@pytest.fixture(name="tool")
def _tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import play_in_mujoco

    yield play_in_mujoco
    sys.modules.pop("play_in_mujoco")


def told(tool, folder, monkeypatch, capsys, *words, friction="", more=""):
    (folder / "arm.xml").write_text(ARM.format(friction=friction, more=more))
    (folder / "s.toml").write_text(SCENARIO)
    monkeypatch.setattr(sys, "argv", ["play_in_mujoco.py", str(folder / "s.toml"), *words])
    tool.main()
    said = capsys.readouterr().out
    assert said.startswith(f"{folder / 's.toml'}: completed: ")
    assert sorted(each.name for each in folder.iterdir()) == ["arm.xml", "s.toml"]
    return float(said.split(": ")[2].split()[0]), "steps with soft constraints" in said


def test_servos_sites_and_gears_make_the_motion_of_the_run(tool, tmp_path, monkeypatch, capsys):
    apart, soft = told(tool, tmp_path, monkeypatch, capsys)
    assert apart < 1e-11
    assert not soft


def test_what_is_soft_in_mujoco_is_left_out_of_both(tool, tmp_path, monkeypatch, capsys):
    rough = {
        "friction": 'frictionloss="0.5"',
        "more": '<equality><joint joint1="a" joint2="b" active="false"/></equality>',
    }
    apart, soft = told(tool, tmp_path, monkeypatch, capsys, "--smooth", **rough)
    assert apart < 1e-11
    assert not soft
    apart, soft = told(tool, tmp_path, monkeypatch, capsys, **rough)
    assert apart > 1e-6
    assert soft
