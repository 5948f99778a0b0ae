#!/bin/sh
# adam-robotics 0.5.0 with CasADi 3.8.2: the mass matrix of a robot with a sliding joint.
#
# Expected: a body of 2 kg on one sliding joint has a mass matrix whose entry of the joint is 2 kg, as a body on a hinge
# has one.
# Seen: with a hinge there is a mass matrix; with a sliding joint of the same file none, for the joint's axis is put
# into 12 numbers where it has 6: "Lhs is 6x6 and rhs is 12x1". So no robot with a lift or a rail can be used.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/lib" adam-robotics==0.5.0 casadi==3.8.2 liecasadi==0.0.7
cat > "$folder/lift.py" <<'PYTHON'
import sys

import numpy as np
from adam.casadi import KinDynComputations

URDF = """<robot name="lift"><link name="base"/><link name="car">
<inertial><origin/><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="KIND"><parent link="base"/><child link="car"/><origin/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""
robot = KinDynComputations(URDF.replace("KIND", sys.argv[1]), ["j"], "base")
print(float(robot.mass_matrix_fun()(np.eye(4), np.zeros(1))[6, 6]))
PYTHON
ask() {
    PYTHONPATH="$folder/lib" python3 "$folder/lift.py" "$1" 2>&1 | tail -1
}
hinge=$(ask revolute)
slide=$(ask prismatic)
echo "a hinge:         $hinge"
echo "a sliding joint: $slide"
[ "$hinge" = 1.0 ]
case "$slide" in *"rhs is 12x1"*) ;; *) exit 1 ;; esac
