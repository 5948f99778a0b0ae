"""The shapes of links in model files; what is shown, within what a page can bear."""

from __future__ import annotations

from ukctrl.robot.appearance import ModelText, ShapeKind
from ukctrl.robot.look.mesh_files import BUDGET, MeshFiles, coarser
from ukctrl.robot.look.shapes import Visual, Visuals
from ukctrl.robot.look.urdf_visuals import urdf_visuals
from ukctrl.robot.models.source import read


def visuals_of(model: ModelText, kind: ShapeKind = "visual") -> Visuals:
    """Return the shapes of a model file, those it shows or those that collide; a shape that is
    unfit is left out and told.
    """
    if model.shapes is not None:
        shapes: Visuals = model.shapes(kind)
        return shapes
    source, files = read(model.text), MeshFiles(model.path, model.packages)
    if source.format == "URDF":
        return urdf_visuals(source.root, model.prefix, files, kind)
    return Visuals(())


def within_budget(visuals: list[Visual]) -> tuple[list[Visual], str]:
    """Return visuals with as many triangles as a page can bear, and a note if some are fewer."""
    total = sum(len(one.mesh.faces) for one in visuals)
    if total <= BUDGET:
        return visuals, ""
    share = BUDGET / total
    fewer = [
        one._replace(mesh=coarser(one.mesh, max(24, int(share * len(one.mesh.faces)))))
        for one in visuals
    ]
    left = sum(len(one.mesh.faces) for one in fewer)
    return fewer, f"The meshes have {total} triangles; they are drawn with {left}."
