"""What is the robot, and what is it at a state? Only here Pinocchio and MuJoCo are imported,
and only by what reads models.

In order: ``layout``, ``motor``, ``schema`` (what files say) and ``appearance`` (of looks);
``interface`` (a robot as its parts see it), ``push_kernels`` (forces on it) and ``snapshot``;
``twist_kernels``, ``configuration_kernels`` (how configurations move) and ``structure``;
``spatial_kernels`` (motions and inertias), ``tree_kernels`` (the terms of rigid bodies),
``force_kernels`` (what motions take of them), ``whole_kernels`` (all of them as one mass),
``rigid_snapshot``, ``rigid_arrays`` (bodies without a model), ``tree`` (of a Pinocchio model) and
``rigid``;
``actuators``, ``forces``, ``by_name`` (values by joint) and ``elastic``;
``audit``, ``models`` (where bodies come from) and ``look`` (what is to be seen of them);
``assembly`` (all of it put together), ``mjcf`` (by MuJoCo), ``links_alone`` (without springs) and
``formulas`` (plants without bodies);
``load_bodies`` (by Pinocchio), ``load``, ``perturb``, and ``robot``: `Robot` itself;
``kept_shapes`` and ``kept_robot`` (as a table).
"""

from ukctrl.robot.audit import Finding
from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.formulas.plant import PlantFunctions
from ukctrl.robot.interface import Site
from ukctrl.robot.links_alone import links_alone
from ukctrl.robot.perturb import Payload, Perturbation
from ukctrl.robot.robot import Robot
from ukctrl.robot.schema.plant_tables import Functions
from ukctrl.robot.schema.plant_tables import LagrangianTable as Lagrangian
from ukctrl.robot.schema.push_tables import (
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
from ukctrl.robot.schema.robot_file import Elastic, ExtraFrame, Options, RobotFile
from ukctrl.robot.snapshot import Energy, FrameMotion, PointMotion, Snapshot

__all__ = [
    "DryFriction",
    "Elastic",
    "ElasticJoints",
    "Energy",
    "ExtraFrame",
    "Finding",
    "FormulaInput",
    "FrameMotion",
    "Functions",
    "GivenForce",
    "JointDamper",
    "JointMotor",
    "JointSpring",
    "Lagrangian",
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
    "links_alone",
]
