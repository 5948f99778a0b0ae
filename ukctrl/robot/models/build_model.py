"""From a checked model text to a Pinocchio model, by Pinocchio's own parsers."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pinocchio as pin

from ukctrl.core.errors import ModelError
from ukctrl.core.message_text import one_line
from ukctrl.robot.models import urdf
from ukctrl.robot.models.captured_stderr import capture_stderr
from ukctrl.robot.models.model_source import ModelSource


def build_model(source: ModelSource, floating_base: bool) -> tuple[Any, tuple[str, ...]]:
    """Return the ``pinocchio.Model`` of a checked URDF or SDF, and what its parser warned of.

    Mimic tags are not applied here: the joints stay free, and
    `ukctrl.robot.models.urdf.mimic_constraints` turns the relation into a passive constraint.

    Raises:
        ModelError: Pinocchio does not accept the model; the message says why.
    """
    makers = {"URDF": _build_urdf, "SDF": _build_sdf}
    with capture_stderr() as noise:
        try:
            model, reason = makers[source.format](source, floating_base), ""
        except (ValueError, RuntimeError, TypeError, IndexError, KeyError) as error:
            if isinstance(error, ModelError):
                raise
            model, reason = None, _reason(str(error), source)
        lines = [one_line(line) for line in noise().splitlines()]
    # A parser that complains but goes on has dropped something, such as a link's inertia.
    complaint = next((line for line in lines if line.lower().startswith("error")), "")
    if model is None or complaint:
        reason = complaint.partition(":")[2].strip() or reason
        raise ModelError(
            f"{source.label}: not a valid {source.format} model: {reason.rstrip('.')}."
        )
    warnings = tuple(
        line.partition(":")[2].strip() for line in lines if line.lower().startswith("warn")
    )
    return model, warnings


def _build_urdf(source: ModelSource, floating_base: bool) -> Any:
    text, inertias = urdf.parser_text(source), urdf.rotor_inertias(source)
    if floating_base:
        joint_names = {element.get("name") for element in source.root.iter("joint")}
        name = "root" if "root" not in joint_names else "floating_root"
        model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer(), name)
    else:
        model = pin.buildModelFromXML(text)
    for name, inertia in inertias.items():
        if model.existJointName(name):
            joint = model.joints[model.getJointId(name)]
            model.armature[joint.idx_v : joint.idx_v + joint.nv] = inertia
    return model


def _build_sdf(source: ModelSource, floating_base: bool) -> Any:
    build_sdf = getattr(pin, "buildModelFromSdf", None)
    if not pin.WITH_SDFORMAT or build_sdf is None:
        raise ModelError(
            f"{source.label}: this build of Pinocchio ({pin.__version__}) cannot read SDF; "
            "convert the model to URDF or MJCF."
        )
    with _as_file(source, ".sdf") as name:
        built = build_sdf(name, pin.JointModelFreeFlyer()) if floating_base else build_sdf(name)
        return built[0] if isinstance(built, tuple) else built


@contextlib.contextmanager
def _as_file(source: ModelSource, suffix: str) -> Iterator[str]:
    """Give the parsers that only read files a file; the original one where there is one."""
    if source.path is not None:
        yield str(source.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        path.write_text(source.text, encoding="utf-8")
        yield str(path)


def _reason(error: str, source: ModelSource) -> str:
    """Return the one line of a C++ exception that says what was wrong."""
    lines = [line.strip() for line in error.replace(source.text, "").splitlines()]
    if "message:" in lines:
        lines = lines[lines.index("message:") + 1 :]
    return one_line(next((line for line in lines if line), "the parser gave no reason"))
