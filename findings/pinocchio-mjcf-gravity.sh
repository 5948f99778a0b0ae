#!/bin/sh
# pin 4.1.0: an MJCF file with <option gravity="0 0 -1.62"/>, as on the Moon.
#
# Expected: model.gravity is (0, 0, -1.62), as MuJoCo has it; or a word that <option> is not read.
# Seen: model.gravity stays (0, 0, -9.81) wherever <option> stands, without a word, and `rnea` holds the arm with six
# times the torque.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check pin==4.1.0 mujoco-core==4.0.1
"$folder/env/bin/python" - "$folder" <<'END'
import pathlib
import sys
import mujoco
import numpy as np
import pinocchio as pin

arm = (
    '<worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/>'
    '<inertial pos="0.5 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body></worldbody>'
)
option = '<option gravity="0 0 -1.62"/>'
changed = False
for where, text in (("above", option + arm), ("below", arm + option)):
    path = pathlib.Path(sys.argv[1], f"{where}.xml")
    path.write_text(f'<mujoco model="m">{text}</mujoco>')
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    model = pin.buildModelFromMJCF(str(path))
    held = pin.rnea(model, model.createData(), pin.neutral(model), np.zeros(1), np.zeros(1))[0]
    print(f"<option> {where} the bodies: {held:.4f} N m by Pinocchio, {data.qfrc_bias[0]:.4f} by MuJoCo")
    changed |= abs(held + 4.905) > 1e-9 or abs(data.qfrc_bias[0] + 0.81) > 1e-9
sys.exit(int(changed))
END
