"""What is the robot, and what is it at a state? Only here Pinocchio and MuJoCo are imported, and
only by what reads models.

In order: ``joint_layout``, ``motor_limits``, ``schema`` (what files say) and ``shape_sources``;
``frame_site`` (where frames are fixed), ``applied_force_kernels`` (forces on it)
and ``snapshot``; ``twist_kernels``, ``manifold_kernels`` (how configurations move) and
``structure``; ``spatial_kernels`` (motions and inertias), ``tree_kernels`` (the terms of rigid
bodies), ``regressor_kernels`` (what motions take of them), ``com_kernels`` (all of them as one
mass), ``rigid_snapshot``, ``rigid_structure`` (bodies as arrays), ``pinocchio_tree`` (of a
Pinocchio model) and ``pinocchio_structure``; ``actuators``, ``forces``, ``values_by_name`` (values
by joint) and ``elastic``; ``model_audit``, ``models`` (where bodies come from) and ``geometry``
(shapes of their links); ``robot_base`` (all of it put together), ``mjcf`` (by MuJoCo),
``rigid_link_model`` (without springs) and ``formulas`` (plants without bodies); ``load_bodies`` (by
Pinocchio), ``load``, ``perturbation``, and ``robot``: `Robot` itself.
"""

from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.formulas.equation_plants import PlantFunctions
from ukctrl.robot.frame_site import Site
from ukctrl.robot.model_audit import ModelDiagnostic
from ukctrl.robot.perturbation import Payload, Perturbation
from ukctrl.robot.rigid_link_model import rigid_link_robot
from ukctrl.robot.robot import Robot
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
    "rigid_link_robot",
]
