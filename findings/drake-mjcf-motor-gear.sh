#!/bin/sh
# drake 1.51.1 beside mujoco-core 4.0.1: an MJCF motor with gear="50" and ctrlrange="-1 1" on a hinge.
#
# Expected: a control of 1 turns the joint with 50 N m in both, and the joint's effort limit is 50 N m.
# Seen: MuJoCo turns it with 50 N m. Drake keeps the 50 as the gear ratio of the actuator, which there weighs the rotor's
# inertia alone: an actuation of 1 turns the joint with 1 N m, and the limit is 1 N m, without a warning.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check drake==1.51.1 mujoco-core==4.0.1
cat > "$folder/arm.xml" <<'END'
<mujoco model="arm">
  <option gravity="0 0 0"/>
  <worldbody>
    <body name="arm">
      <joint name="hinge" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="2 2 2"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge" gear="50" ctrlrange="-1 1"/></actuator>
</mujoco>
END
"$folder/env/bin/python" - "$folder/arm.xml" <<'END'
import sys
import mujoco
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import JointActuatorIndex

model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
data.ctrl[0] = 1.0
mujoco.mj_forward(model, data)
by_mujoco = 2.0 * data.qacc[0]

plant = MultibodyPlant(0.0)
Parser(plant).AddModels(sys.argv[1])
plant.Finalize()
context = plant.CreateDefaultContext()
plant.get_actuation_input_port().FixValue(context, [1.0])
by_drake = 2.0 * plant.get_generalized_acceleration_output_port().Eval(context)[0]
motor = plant.get_joint_actuator(JointActuatorIndex(0))

print(f"a control of 1 turns the joint with {by_mujoco:g} N m in MuJoCo, {by_drake:g} N m in Drake,")
print(f"whose gear ratio is {motor.default_gear_ratio():g} and whose effort limit {motor.effort_limit():g}")
same = (round(by_mujoco, 9), round(by_drake, 9), motor.default_gear_ratio(), motor.effort_limit())
sys.exit(int(same != (50.0, 1.0, 50.0, 1.0)))
END
