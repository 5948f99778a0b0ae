#!/bin/sh
# mujoco 4.0.0: a parameter of mujoco.sysid with `frozen=True`, which is "excluded from optimization".
#
# Expected: its value stands in the model, and stays there.
# Seen: its value never reaches the model. A mass of 3 kg is written where it is free; frozen, the model keeps the 1 kg
# of its file, without a word. So does what a first fit has found, once it is frozen for a second with a fresh spec.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check "mujoco[sysid]==4.0.0"
"$folder/env/bin/python" <<'END'
import sys

import mujoco
from mujoco import sysid

XML = (
    '<mujoco><worldbody><body name="ball"><joint type="slide"/>'
    '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>'
)
masses = {}
for frozen in (False, True):
    params = sysid.ParameterDict()
    params.add(sysid.Parameter(
        "mass", nominal=3.0, min_value=0.1, max_value=10.0, frozen=frozen,
        modifier=lambda spec, p: setattr(spec.body("ball"), "mass", p.value[0]),
    ))
    model = sysid.apply_param_modifiers(params, mujoco.MjSpec.from_string(XML))
    masses[frozen] = float(model.body("ball").mass[0])
    print(f"frozen={frozen}: parameter {params['mass'].value[0]} kg, model {masses[frozen]} kg")
sys.exit(int(masses != {False: 3.0, True: 1.0}))
END
