"""The page on robots says everything that robot.toml can say."""

import dataclasses as dc
import re
from pathlib import Path

import pytest

from ukctrl import robot
from ukctrl.robot import model_audit, perturbation
from ukctrl.robot.schema import linkage_tables as linkage
from ukctrl.robot.schema import plant_tables as formulas

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "robots.md").read_text("utf-8")
SPECS = [
    robot.RobotFile, robot.ExtraFrame, robot.JointMotor, robot.Transmission,
    robot.TorqueBetween, robot.Wrench, robot.JointSpring, robot.JointDamper,
    robot.DryFriction, robot.Spring, robot.GivenForce, robot.FormulaInput, robot.Elastic,
    formulas.LagrangianTable, formulas.FunctionsTable, linkage.Linkage,
    linkage.LinkageBody, linkage.Prismatic, linkage.LinkageMotor, linkage.RepeatedModule,
    formulas.Particles, perturbation.Perturbation, perturbation.Payload,
]  # fmt: skip


@pytest.mark.parametrize("kind", SPECS, ids=lambda kind: kind.__name__)
def test_every_key_is_described(kind):
    for field in dc.fields(kind):
        name = field.default if field.name == "kind" else field.name
        assert re.search(rf"`\[*{name}\]*`|`kind = \"{name}\"`", PAGE), name


def test_every_finding_of_the_audit_is_described():
    folder = Path(model_audit.__file__).parent
    text = (folder / "model_audit.py").read_text() + (folder / "models" / "urdf.py").read_text()
    codes = set(re.findall(r"\b(?:error|warning|note)\(\s*\"(\w+)\"", text))
    codes -= {"error", "warning", "note"}
    assert len(codes) > 15
    for code in codes:
        assert f"`{code}`" in PAGE, code
