"""What of a compiled model is read, and what is told: one table of all that an ``MjModel`` has.

What moves a robot is listed by its whole name, so that a field of a later MuJoCo, which nobody has
read yet, is told wherever it is not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.errors import quoted
from ukctrl.robot.model_audit import ModelDiagnostic, note, warning


class UnsupportedFeature(NamedTuple):
    """Something of the file that is not in the robot."""

    diagnostic: ModelDiagnostic
    remove: Callable[[Any], None] | None = None
    """Takes it out of an ``MjModel``, so that all the rest can be compared."""


def unsupported(
    code: str, subject: str, message: str, remove: Callable[[Any], None] | None = None
) -> UnsupportedFeature:
    """Return a warning that names what the robot lacks."""
    return UnsupportedFeature(warning(code, subject, message), remove)


def remark(code: str, subject: str, message: str) -> UnsupportedFeature:
    """Return a note on how something is read."""
    return UnsupportedFeature(note(code, subject, message))


class UnsupportedElements(NamedTuple):
    """Elements of one kind that are not read, and what a warning says of them."""

    code: str
    names: Sequence[str]
    """None: there is nothing to say."""
    message: str
    """With ``{names}`` where they are listed."""
    remove: Callable[[Any], None] | None = None
    """See `UnsupportedFeature`."""


def report(*table: UnsupportedElements) -> Iterator[UnsupportedFeature]:
    """Yield a warning for every line of a table that has elements."""
    for code, names, message, remove in table:
        if names:
            yield unsupported(code, names[0], message.format(names=listed_names(names)), remove)


class FieldGroup(NamedTuple):
    """Fields of one kind of element."""

    read: str = ""
    """Names, without the element's, of the fields that make up the robot."""
    unsupported: str = ""
    """Those that a finding names where they act."""
    idle: str = ""
    """Those that follow from others, or change no motion of a robot without contacts."""
    prefixes: tuple[str, ...] = ()
    """How the fields begin of elements that have no part in the motion."""


TABLE: dict[str, FieldGroup] = {
    "body": FieldGroup(
        "parentid pos quat ipos iquat mass inertia gravcomp jntadr jntnum dofnum dofadr",
        "mocapid plugin",
        "rootid weldid subtreemass invweight0 sameframe simple treeid geomnum geomadr margin "
        "bvhadr bvhnum conaffinity contype user",
    ),
    "jnt": FieldGroup(
        "type qposadr dofadr bodyid limited range pos axis stiffness stiffnesspoly actfrclimited "
        "actfrcrange",
        "actgravcomp springyield plasticadr",
        "group actuatorid margin solimp solref user",
    ),
    "dof": FieldGroup(
        "armature damping dampingpoly frictionloss jntid",
        "",
        "M0 Madr bodyid invweight0 length parentid simplenum solimp solref treeid",
    ),
    "actuator": FieldGroup(
        "trntype trnid gear gaintype gainprm biastype biasprm ctrllimited ctrlrange forcelimited "
        "forcerange armature damping dampingpoly ctrladr ctrlnum group",
        "dyntype dynprm plugin cranklength delay outnum",
        "acc0 length0 lengthrange actadr actnum actearly actlimited actrange user outadr history "
        "historyadr ctrlspec",
    ),
    "eq": FieldGroup("type obj1id obj2id objtype active0 data", "", "solref solimp"),
    "site": FieldGroup("bodyid pos quat", "", "type size sameframe rgba group matid dataid user"),
    "geom": FieldGroup(
        "type bodyid pos quat size dataid matid rgba group contype conaffinity",
        "fluid plugin adhesion surfacevel",
        "condim priority friction solmix solref solimp margin gap sameframe aabb rbound castshadow "
        "user",
    ),
    "tendon": FieldGroup(
        "adr num type",
        "stiffness stiffnesspoly damping dampingpoly frictionloss limited armature plasticadr "
        "springyield actfrclimited",
        "lengthspring range actfrcrange length0 invweight0 margin width rgba group matid user "
        "solref_fri solimp_fri solref_lim solimp_lim actuatorid treeid treenum",
    ),
    "key": FieldGroup("qpos qvel", "", "time act ctrl mpos mquat plastic"),
    "opt": FieldGroup(
        "gravity wind density viscosity disableflags disableactuator",
        "",
        "timestep tolerance ls_tolerance noslip_tolerance ccd_tolerance sleep_tolerance impratio "
        "magnetic o_margin o_solref o_solimp o_friction integrator cone jacobian solver iterations "
        "ls_iterations noslip_iterations ccd_iterations sdf_initpoints sdf_iterations enableflags",
    ),
    "picture": FieldGroup(prefixes=("mesh_", "mat_", "tex_", "cam_", "light_", "skin_", "hfield_")),
    "contact": FieldGroup(prefixes=("pair_", "exclude_")),
    "flex": FieldGroup(unsupported="", prefixes=("flex_", "flexedge_", "efm0_", "efmC_")),
    "sensor": FieldGroup(prefixes=("sensor_",)),
    "text": FieldGroup(prefixes=("numeric_", "text_", "tuple_", "name_", "plugin_")),
    "index": FieldGroup(
        prefixes=(
            "bvh_", "oct_", "B_", "D_", "M_", "map", "ten_", "wrap_", "tree_", "n", "flg_", "names",
            "paths", "signature",
        )
    ),
    "start": FieldGroup("qpos0 qpos_spring"),
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


def supported_fields(element: str) -> frozenset[str]:
    """Return the whole names of the fields of an element."""
    entry = TABLE[element]
    field_names = " ".join((entry.read, entry.unsupported, entry.idle)).split()
    return frozenset(
        field_names
        if element in ("start", "opt")
        else (f"{element}_{name}" for name in field_names)
    )


def unknown_fields(m: Any) -> Iterator[UnsupportedFeature]:
    """Name what a model has that the table does not know: it may come with a later MuJoCo."""
    fields = frozenset().union(
        *(supported_fields(element) for element in TABLE if element != "opt")
    )
    prefixes = tuple(prefix for entry in TABLE.values() for prefix in entry.prefixes)
    names = [
        name
        for name in dir(m)
        if not (name.startswith(("_", *prefixes)) or name in fields | STRUCTURES | ACCESS)
        and _is_nonzero(getattr(m, name))
    ]
    options = supported_fields("opt")
    names += [
        f"opt.{name}"
        for name in dir(m.opt)
        if not name.startswith("_") and name not in options and _is_nonzero(getattr(m.opt, name))
    ]
    message = (
        "not read, of a MuJoCo newer than this release of ukctrl: {names} of the compiled model; "
        "compare the motion with MuJoCo's, or take a newer ukctrl."
    )
    yield from report(UnsupportedElements("not_known", names, message))


def _is_nonzero(value: Any) -> bool:
    if callable(value):
        return False
    array = np.asarray(value)
    return array.dtype.kind in "biuf" and bool(np.any(array))


MOST_NAMES = 6
"""Names that a finding lists; more are counted."""


def listed_names(names: Sequence[str]) -> str:
    """Return names as a finding lists them."""
    more = len(names) - MOST_NAMES
    if more < 2:
        return quoted(names)
    return f"{quoted(names[:MOST_NAMES])} and {more} more"
