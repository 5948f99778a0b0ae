"""From a designed controller to one's own control loop: a class, tables, a folder of files."""

from ukctrl.handover.folder import HandedOver, hand_over
from ukctrl.handover.replay import Replay, replay
from ukctrl.handover.ros import joint_trajectory
from ukctrl.handover.runtime import Runtime
from ukctrl.handover.tables import column_units, motion_table

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
