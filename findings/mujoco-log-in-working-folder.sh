#!/bin/sh
# mujoco-core 4.0.1: a model with an attribute that is deprecated, loaded by the two ways of the Python package.
#
# Expected: a Python warning both times, and nothing is written, as a library leaves the working folder alone.
# Seen: MjSpec.compile gives the warning; MjModel.from_xml_string gives none, and leaves MUJOCO_LOG.TXT where it runs.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check mujoco-core==4.0.1
mkdir "$folder/here"
cd "$folder/here"
"$folder/env/bin/python" - 2> "$folder/said" <<'END'
import os
import sys
import warnings
import mujoco

MODEL = (
    '<mujoco><compiler settotalmass="4"/><worldbody><body><joint/><geom size="0.1"/></body>'
    "</worldbody></mujoco>"
)
seen = []
for load in (lambda: mujoco.MjSpec.from_string(MODEL).compile(), lambda: mujoco.MjModel.from_xml_string(MODEL)):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load()
    seen.append((len(caught), os.listdir(".")))
for way, (count, files) in zip(("MjSpec ", "MjModel"), seen):
    print(f"{way}: {count} warning(s), files in the working folder: {files}")
sys.exit(int(seen != [(1, []), (0, ["MUJOCO_LOG.TXT"])]))
END
