#!/bin/sh
# mujoco 4.0.0: mujoco.sysid with the inertia of a body as a parameter, InertiaType.Pseudo.
#
# Expected: the model is built with the parameter's value, as mujoco 3.10.0 does.
# Seen: no model is built, whatever the body: "mass and inertia of moving bodies must be larger than mjMINVAL". What
# sysid writes beside the full inertia, an `iquat` that is no number, 4.0.0's compiler takes for given axes; with
# (1, 0, 0, 0) instead the same model is built. So no inertia can be identified, only masses and centres.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cat > "$folder/try.py" <<'END'
import sys

import mujoco
import numpy as np
from mujoco import sysid

XML = (
    '<mujoco><worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/>'
    '<inertial pos="0 0 0.1" mass="1" diaginertia="0.02 0.03 0.02"/></body></worldbody></mujoco>'
)


def built(repaired):
    spec = mujoco.MjSpec.from_string(XML)
    params = sysid.ParameterDict()
    params.add(sysid.body_inertia_param(spec, spec.compile(), "arm", sysid.InertiaType.Pseudo))
    sysid.apply_param_modifiers_spec(params, spec)
    if repaired:
        spec.body("arm").iquat[:] = (1.0, 0.0, 0.0, 0.0)
    try:
        return np.sort(spec.compile().body_inertia[1])
    except ValueError as error:
        return str(error).splitlines()[0]


found, repaired = built(False), built(True)
print(f"{mujoco.__version__}: {found}; with another iquat: {repaired}")
works = not isinstance(found, str) and np.allclose(found, [0.02, 0.02, 0.03])
sys.exit(int(works is not (mujoco.__version__ == "3.10.0")))
END
for version in 3.10.0 4.0.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/python" -m pip install --quiet --disable-pip-version-check "mujoco[sysid]==$version"
    "$folder/$version/bin/python" "$folder/try.py"
done
