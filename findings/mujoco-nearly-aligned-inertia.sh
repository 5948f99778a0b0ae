#!/bin/sh
# mujoco-core 4.0.1: a centre of mass that is 0.1 micrometre from its body's origin.
#
# Expected: the offset counts as it is written, as one of 1 micrometre does: the compiled model keeps it (body_ipos), and
# the body feels its moment. A hinge about y under gravity along x then has a torque of m g 1e-7 = 9.81e-4 N m for 1 t.
# Seen: body_ipos has the offset, but the inertial frame counts as the body's (body_sameframe), so that the torque is
# zero; with 1.1e-6 m it is exact.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/lib" mujoco-core==4.0.1
cat > "$folder/body.py" <<'PYTHON'
import sys

import mujoco

offset = float(sys.argv[1])
model = mujoco.MjModel.from_xml_string(f"""<mujoco><option gravity="9.81 0 0"/><worldbody><body><joint axis="0 1 0"/>
<inertial pos="0 0 {offset!r}" mass="1000" diaginertia="1 1.1 1.2"/></body></worldbody></mujoco>""")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
torque, written = -data.qfrc_bias[0], model.body_ipos[1][2]
print(f"offset {written:.1e} m, torque {torque:.3e} N m of {9810.0 * offset:.3e}")
PYTHON
ask() {
    PYTHONPATH="$folder/lib" python3 "$folder/body.py" "$1" 2>&1 | tail -1
}
near=$(ask 1e-7)
far=$(ask 1.1e-6)
echo "$near"
echo "$far"
case "$near" in *"offset 1.0e-07 m, torque "*0.000e+00*) ;; *) exit 1 ;; esac
case "$far" in *"torque 1.079e-02 N m of 1.079e-02"*) ;; *) exit 1 ;; esac
