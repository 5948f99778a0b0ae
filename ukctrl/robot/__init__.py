"""What is the robot, and what is it at a state? Pinocchio and MuJoCo are imported only here.

In order: ``joint_layout``, ``motor_limits``, ``schema``, ``shape_sources``; ``frame_site``,
``applied_force_kernels``, ``snapshot``, ``twist_kernels``, ``manifold_kernels``, ``structure``,
``spatial_kernels``, ``rigid``; ``actuators``, ``forces``, ``values_by_name``, ``elastic``;
``model_audit``, ``robot_base``, ``rigid_link_model``, ``formulas``; ``models``, ``geometry``,
``mjcf``, ``load_bodies``, ``load``, ``perturbation``, ``robot`` (loading).
"""

from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.formulas.equation_plants import PlantFunctions
from ukctrl.robot.frame_site import Site
from ukctrl.robot.model_audit import ModelDiagnostic
from ukctrl.robot.perturbation import Payload, Perturbation
from ukctrl.robot.rigid_link_model import rigid_link_robot
from ukctrl.robot.robot import AnyRobot, Robot, as_robot
from ukctrl.robot.schema.force_tables import (
    DryFriction,
    FormulaInput,
    GivenForce,
    JointDamper,
    JointMotor,
    JointSpring,
    Spring,
    TorqueBetween,
    Transmission,
    Wrench,
)
from ukctrl.robot.schema.plant_tables import Functions
from ukctrl.robot.schema.plant_tables import LagrangianTable as Lagrangian
from ukctrl.robot.schema.robot_file import Elastic, ExtraFrame, Options, RobotFile
from ukctrl.robot.snapshot import Energy, FrameMotion, PointMotion, Snapshot

__all__ = [
    "AnyRobot",
    "DryFriction",
    "Elastic",
    "ElasticJoints",
    "Energy",
    "ExtraFrame",
    "FormulaInput",
    "FrameMotion",
    "Functions",
    "GivenForce",
    "JointDamper",
    "JointMotor",
    "JointSpring",
    "Lagrangian",
    "ModelDiagnostic",
    "Options",
    "Payload",
    "Perturbation",
    "PlantFunctions",
    "PointMotion",
    "Robot",
    "RobotFile",
    "Site",
    "Snapshot",
    "Spring",
    "TorqueBetween",
    "Transmission",
    "Wrench",
    "as_robot",
    "rigid_link_robot",
]
