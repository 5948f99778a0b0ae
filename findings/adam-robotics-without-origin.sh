#!/bin/sh
# adam-robotics 0.5.0 with CasADi 3.8.2: a URDF whose joint has no <origin>.
#
# Expected: a joint without <origin> lies in its parent's frame, as the format says; pin, MuJoCo and yourdfpy read it so.
# The mass matrix of a body of inertia 1 on such a hinge is 1.
# Seen: with <origin/> written it is 1; without it the robot is not taken: an AttributeError that names neither the file
# nor the joint.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/lib" adam-robotics==0.5.0 casadi==3.8.2 liecasadi==0.0.7
cat > "$folder/hinge.py" <<'PYTHON'
import sys

import numpy as np
from adam.casadi import KinDynComputations

URDF = """<robot name="r"><link name="base"/><link name="arm">
<inertial><origin/><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/>ORIGIN<axis xyz="0 0 1"/></joint></robot>"""
try:
    robot = KinDynComputations(URDF.replace("ORIGIN", sys.argv[1]), ["j"], "base")
except AttributeError as error:
    sys.exit(str(error))
print(float(robot.mass_matrix_fun()(np.eye(4), np.zeros(1))[6, 6]))
PYTHON
ask() {
    PYTHONPATH="$folder/lib" python3 "$folder/hinge.py" "$1" 2>&1 | tail -1
}
written=$(ask '<origin/>')
absent=$(ask '')
echo "with <origin/>:    $written"
echo "without <origin/>: $absent"
[ "$written" = 1.0 ]
case "$absent" in *"'NoneType' object has no attribute 'xyz'"*) ;; *) exit 1 ;; esac
