#!/bin/sh
# mujoco 3.3.7, then mujoco-core 4.0.1 into the same environment.
#
# Expected: pip says that the two cannot stand beside each other (both bring the module `mujoco`), or both work.
# Seen: pip installs the second without a word and `pip check` finds nothing, but `import mujoco` fails: the files of
# both lie in one folder, and 4.0.1's extension is loaded with Python files of 3.3.7, or the reverse.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
pip="$folder/env/bin/python -m pip --disable-pip-version-check"
$pip install --quiet mujoco==3.3.7
"$folder/env/bin/python" -c 'import mujoco; print("alone:    mujoco", mujoco.__version__)'
$pip install --quiet mujoco-core==4.0.1
$pip check
if "$folder/env/bin/python" -c 'import mujoco' 2> "$folder/said"; then
    echo "together: imports"; exit 1
fi
echo "together: $(tail -n 1 "$folder/said" | cut -c 1-100)"
