"""Build hook: a wheel for this Python and platform, where machine code to ship is given.

`make wheel` sets ``UKCTRL_MACHINE_CODE`` to the archive that ``tools/ship_machine_code.py`` made.
Without it the wheel is for all platforms, and compiles at first use.
"""

import os
import re
import sys
from importlib.metadata import distribution

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCode(BuildHookInterface):
    """Puts the archive of machine code into a wheel, and says what the wheel is for."""

    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        """Add the archive, unless the wheel is an editable one or nothing is given."""
        archive = os.environ.get("UKCTRL_MACHINE_CODE")
        if version == "editable" or not archive:
            return
        build_data["force_include"][os.path.abspath(archive)] = "ukctrl/_machine_code.zip"
        build_data["pure_python"] = False
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        build_data["tag"] = f"{python}-{python}-{platform()}"


def platform() -> str:
    """Return the platforms of the installed Numba: which loads the machine code."""
    tags = re.findall(r"^Tag: \S+-\S+-(\S+)$", distribution("numba").read_text("WHEEL"), re.M)
    return ".".join(sorted(tags))
