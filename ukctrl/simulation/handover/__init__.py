"""From a designed controller to one's own control loop: a class, tables, a folder of files."""

from ukctrl.simulation.handover.hand_over import HandedOver, hand_over
from ukctrl.simulation.handover.motion_table import column_units, motion_table
from ukctrl.simulation.handover.replay import Replay, replay
from ukctrl.simulation.handover.ros import joint_trajectory
from ukctrl.simulation.handover.runtime import Runtime

__all__ = [
    "HandedOver",
    "Replay",
    "Runtime",
    "column_units",
    "hand_over",
    "joint_trajectory",
    "motion_table",
    "replay",
]
