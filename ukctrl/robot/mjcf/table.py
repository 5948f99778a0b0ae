"""What of a compiled model is read, and what is told: one table of all that an ``MjModel`` has.

What moves a robot is listed by its whole name, so that a field of a later MuJoCo, which nobody has
read yet, is told wherever it is not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.errors import quoted
from ukctrl.robot.audit import Finding, note, warning


class Told(NamedTuple):
    """Something of the file that is not in the robot."""

    finding: Finding
    remove: Callable[[Any], None] | None = None
    """Takes it out of an ``MjModel``, so that all the rest can be compared."""


def lacks(
    code: str, subject: str, message: str, remove: Callable[[Any], None] | None = None
) -> Told:
    """Return a warning that names what the robot lacks."""
    return Told(warning(code, subject, message), remove)


def remarks(code: str, subject: str, message: str) -> Told:
    """Return a note on how something is read."""
    return Told(note(code, subject, message))


class Part(NamedTuple):
    """Fields of one kind of element."""

    read: str = ""
    """Names, without the element's, of the fields that make up the robot."""
    told: str = ""
    """Those that a finding names where they act."""
    idle: str = ""
    """Those that follow from others, or change no motion of a robot without contacts."""
    prefixes: tuple[str, ...] = ()
    """How the fields begin of elements that have no part in the motion."""


TABLE: dict[str, Part] = {
    "body": Part(
        "parentid pos quat ipos iquat mass inertia gravcomp jntadr jntnum dofnum dofadr",
        "mocapid plugin",
        "rootid weldid subtreemass invweight0 sameframe simple treeid geomnum geomadr margin "
        "bvhadr bvhnum conaffinity contype user",
    ),
    "jnt": Part(
        "type qposadr dofadr bodyid limited range pos axis stiffness stiffnesspoly actfrclimited "
        "actfrcrange",
        "actgravcomp springyield plasticadr",
        "group actuatorid margin solimp solref user",
    ),
    "dof": Part(
        "armature damping dampingpoly frictionloss jntid",
        "",
        "M0 Madr bodyid invweight0 length parentid simplenum solimp solref treeid",
    ),
    "actuator": Part(
        "trntype trnid gear gaintype gainprm biastype biasprm ctrllimited ctrlrange forcelimited "
        "forcerange armature damping dampingpoly ctrladr ctrlnum group",
        "dyntype dynprm plugin cranklength delay outnum",
        "acc0 length0 lengthrange actadr actnum actearly actlimited actrange user outadr history "
        "historyadr ctrlspec",
    ),
    "eq": Part("type obj1id obj2id objtype active0 data", "", "solref solimp"),
    "site": Part("bodyid pos quat", "", "type size sameframe rgba group matid dataid user"),
    "geom": Part(
        "type bodyid pos quat size dataid matid rgba group contype conaffinity",
        "fluid plugin adhesion surfacevel",
        "condim priority friction solmix solref solimp margin gap sameframe aabb rbound castshadow "
        "user",
    ),
    "tendon": Part(
        "adr num type",
        "stiffness stiffnesspoly damping dampingpoly frictionloss limited armature plasticadr "
        "springyield actfrclimited",
        "lengthspring range actfrcrange length0 invweight0 margin width rgba group matid user "
        "solref_fri solimp_fri solref_lim solimp_lim actuatorid treeid treenum",
    ),
    "key": Part("qpos qvel", "", "time act ctrl mpos mquat plastic"),
    "opt": Part(
        "gravity wind density viscosity disableflags disableactuator",
        "",
        "timestep tolerance ls_tolerance noslip_tolerance ccd_tolerance sleep_tolerance impratio "
        "magnetic o_margin o_solref o_solimp o_friction integrator cone jacobian solver iterations "
        "ls_iterations noslip_iterations ccd_iterations sdf_initpoints sdf_iterations enableflags",
    ),
    "picture": Part(prefixes=("mesh_", "mat_", "tex_", "cam_", "light_", "skin_", "hfield_")),
    "contact": Part(prefixes=("pair_", "exclude_")),
    "flex": Part(told="", prefixes=("flex_", "flexedge_", "efm0_", "efmC_")),
    "sensor": Part(prefixes=("sensor_",)),
    "text": Part(prefixes=("numeric_", "text_", "tuple_", "name_", "plugin_")),
    "index": Part(
        prefixes=(
            "bvh_", "oct_", "B_", "D_", "M_", "map", "ten_", "wrap_", "tree_", "n", "flg_", "names",
            "paths", "signature",
        )
    ),
    "start": Part("qpos0 qpos_spring"),
}  # fmt: skip
"""By element; the whole names of fields under ``start``."""
STRUCTURES = frozenset({"opt", "stat", "vis"})
ACCESS = frozenset(
    {
        "actuator", "body", "cam", "camera", "dof", "eq", "equality", "exclude", "geom", "hfield",
        "jnt", "joint", "key", "keyframe", "light", "mat", "material", "mesh", "numeric", "pair",
        "plugin", "sensor", "site", "skin", "tendon", "tex", "text", "texture", "tuple", "flex",
    }
)  # fmt: skip
"""Ways to an element by its name, which are no fields."""


def known(element: str) -> frozenset[str]:
    """Return the whole names of the fields of an element."""
    part = TABLE[element]
    own = " ".join((part.read, part.told, part.idle)).split()
    return frozenset(own if element in ("start", "opt") else (f"{element}_{name}" for name in own))


def unknown_fields(m: Any) -> Iterator[Told]:
    """Name what a model has that the table does not know: it may come with a later MuJoCo."""
    fields = frozenset().union(*(known(element) for element in TABLE if element != "opt"))
    prefixes = tuple(prefix for part in TABLE.values() for prefix in part.prefixes)
    found = [
        name
        for name in dir(m)
        if not (name.startswith(("_", *prefixes)) or name in fields | STRUCTURES | ACCESS)
        and _acts(getattr(m, name))
    ]
    options = known("opt")
    found += [
        f"opt.{name}"
        for name in dir(m.opt)
        if not name.startswith("_") and name not in options and _acts(getattr(m.opt, name))
    ]
    if found:
        yield lacks(
            "not_known",
            found[0],
            f"{listed(found)} of the compiled model "
            f"{plural(found, 'is a field', 'are fields')} of a MuJoCo newer than this release "
            "of ukctrl, and not read; compare the motion with MuJoCo's, or take a newer "
            "ukctrl.",
        )


def _acts(value: Any) -> bool:
    if callable(value):
        return False
    array = np.asarray(value)
    return array.dtype.kind in "biuf" and bool(np.any(array))


def plural(names: Sequence[Any], one: str, several: str) -> str:
    """Return the words that go with one name, or with several."""
    return one if len(names) == 1 else several


MOST_NAMES = 6
"""Names that a finding lists; more are counted."""


def listed(names: Sequence[str]) -> str:
    """Return names as a finding lists them."""
    more = len(names) - MOST_NAMES
    if more < 2:
        return quoted(names)
    return f"{quoted(names[:MOST_NAMES])} and {more} more"
