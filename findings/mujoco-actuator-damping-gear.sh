#!/bin/sh
# mujoco-core 4.0.1: an actuator with gear="10" whose damping has two numbers, b1 and b2, at a hinge that turns with v.
#
# Expected: the damper sits at the actuator, which turns with 10 v, so the joint feels 10 (b1 (10 v) + b2 (10 v)|10 v|):
# the square term is worth the cube of the gear, as the linear one is worth its square.
# Seen: both terms are worth the square of the gear and are taken at the speed of the joint, 10^2 (b1 v + b2 v|v|).
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check mujoco-core==4.0.1
"$folder/env/bin/python" - <<'END'
import sys
import mujoco

GEAR, B1, B2, V = 10.0, 2.0, 3.0, 0.5
model = mujoco.MjModel.from_xml_string(f"""
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
  <actuator><motor joint="j" gear="{GEAR}" damping="{B1} {B2}"/></actuator>
</mujoco>""")
data = mujoco.MjData(model)
data.qvel[0] = V
mujoco.mj_forward(model, data)
felt = -data.qfrc_passive[0]
at_actuator = GEAR * (B1 * GEAR * V + B2 * (GEAR * V) ** 2)
at_joint = GEAR**2 * (B1 * V + B2 * V**2)
print(f"the joint feels {felt:g} N m; a damper at the actuator makes {at_actuator:g}, one at the joint {at_joint:g}")
sys.exit(int(abs(felt - at_joint) > 1e-9))
END
