#!/bin/sh
# mujoco-core 4.0.1: a mesh file that is written again within the second in which it was loaded, as a script does that
# makes one shape after the other.
#
# Expected: loading the model again reads the new mesh; its mass doubles.
# Seen: the compiler keeps meshes by the whole second of their time stamp, takes the old one, and goes on doing so until
# the file is written in another second: the mass stays, without a word. mj_clearCache helps.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check mujoco-core==4.0.1
"$folder/env/bin/python" - "$folder" <<'END'
import os
import pathlib
import sys
import mujoco

folder = pathlib.Path(sys.argv[1])
mesh, model = folder / "mesh.obj", folder / "model.xml"
model.write_text(
    '<mujoco><asset><mesh name="m" file="mesh.obj"/></asset><worldbody><body><joint/>'
    '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
)


def written(width, nanosecond):
    mesh.write_text(f"v 0 0 0\nv {width} 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    os.utime(mesh, ns=(1_700_000_000_000_000_000 + nanosecond,) * 2)
    return float(mujoco.MjModel.from_xml_path(str(model)).body_mass[1])


first = written(1.0, 100_000_000)
second = written(2.0, 900_000_000)
mujoco.mj_clearCache(mujoco.mj_getCache())
cleared = float(mujoco.MjModel.from_xml_path(str(model)).body_mass[1])
print(f"mass {first:.1f} kg; with a mesh twice as wide {second:.1f} kg; after mj_clearCache {cleared:.1f} kg")
sys.exit(int(not (second == first and abs(cleared - 2.0 * first) < 1e-6 * first)))
END
