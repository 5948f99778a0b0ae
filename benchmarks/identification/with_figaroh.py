"""The Panda's log identified by FIGAROH, as its documentation has it: a subclass and its settings.

It filters and differentiates positions itself, fits viscous and dry friction and offsets,
decimates torques and columns, and weights joints. ``base`` are its base parameters, ``bodies`` its
fit by linear matrix inequalities. Of cutoffs of 5, 10 and 20 Hz, decimation to 10 and 40, and six
weights of the model's parameters, those stand here that err least where nothing was fitted; with
half of the weights, that of FIGAROH's own settings among them, its solver fails.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import figaroh.identification.base_identification as base_identification
import numpy as np
import pinocchio as pin
from figaroh.tools.load_robot import load_robot
from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced
from protocol import Clock, Samples, answer

DECIMATION = 40
"""Samples to one: what is left passes 10 Hz."""
SETTINGS = """
robot:
  name: panda
  properties:
    joints:
      active_joints: {joints}
tasks:
  identification:
    type: dynamic_identification
    problem:
      model_components: {{friction: true, actuator_inertia: false, joint_offset: true}}
    signal_processing:
      sampling_frequency: {rate}
      cutoff_frequency: 10.0
    select_stage: physical_fit
    physical_fit: {{prior_weight: 1.0}}
"""


class Panda(base_identification.BaseIdentification):  # type: ignore[misc]
    """What FIGAROH wants to know of a robot."""

    def __init__(self, robot: Any, settings: str, samples: Samples) -> None:
        super().__init__(robot, settings)
        self.samples = samples
        every = np.arange(robot.model.nv)
        self.identif_config |= {"act_idxq": every, "act_idxv": every}

    def load_trajectory_data(self, data_source: str | None = None) -> dict[str, Any]:
        """Return what was logged."""
        seen = slice(None, int(self.samples["split"]))
        t, q, tau = (self.samples[name][seen] for name in ("t", "raw", "tau"))
        nothing = dict.fromkeys(("velocities", "accelerations"))
        return {"timestamps": t, "positions": q, "torques": tau} | nothing


def log(samples: Samples, clock: Clock) -> dict[str, Any]:
    """Return the torques that two models ask for where nothing was fitted."""
    robot = load_robot(str(samples["urdf"]))
    rate = 1.0 / float(samples["t"][1] - samples["t"][0])
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "panda.yaml"
        joints = list(robot.model.names)[1:]
        settings.write_text(SETTINGS.format(joints=joints, rate=rate))
        panda = Panda(robot, str(settings), samples)
        clock.lap("loading")
        panda.initialize()
        clock.lap("columns")
        panda.solve(decimation_factor=DECIMATION, plotting=False, wls=True)
        clock.lap("solution")
    unseen = slice(int(samples["split"]), None)
    motion = (samples[name][unseen] for name in ("q", "v", "a"))
    full = build_regressor_basic(robot, *motion, panda.identif_config)
    reduced = build_regressor_reduced(full, panda._idx_eliminated)[:, panda._base_indices]
    found = {"base": reduced @ panda.phi_base}
    if panda.selected.accepted:
        found["bodies"] = panda.selected.predict(full)
    return {name: tau.reshape(robot.model.nv, -1).T for name, tau in found.items()}


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    from importlib.metadata import version

    answer({"log": log}, f"figaroh {version('figaroh')}, pin {pin.__version__}")
