#!/bin/sh
# pin 4.1.0: dynamic parameters of a rotor that has inertia and no mass, there and back.
#
# Expected: Inertia.FromDynamicParameters gives back what toDynamicParameters wrote, as it does for any body with mass;
# the centre of mass of a massless body does not matter, and Inertia(0, 0, I) is accepted.
# Seen: every number is NaN, without an error; so is the mass matrix of a model that gets it.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check pin==4.1.0
cat > "$folder/rotor.py" <<'PYTHON'
import numpy as np
import pinocchio as pin

rotor = pin.Inertia(0.0, np.zeros(3), np.diag([1e-3, 1e-3, 2e-3]))
back = pin.Inertia.FromDynamicParameters(rotor.toDynamicParameters())
model = pin.Model()
joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "spin")
found = []
for inertia in (rotor, back):
    model.inertias[joint] = inertia
    found.append(float(pin.crba(model, model.createData(), np.zeros(1))[0, 0]))
print(f"mass matrix {found[0]}, there and back {found[1]}")
PYTHON
seen=$("$folder/env/bin/python" "$folder/rotor.py" 2>&1 | tail -1)
echo "$seen"
[ "$seen" = "mass matrix 0.002, there and back nan" ]
