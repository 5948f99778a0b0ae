"""The shapes of links in model files; what is shown, within what a page can bear."""

from __future__ import annotations

from ukctrl.robot.models.model_source import read_model
from ukctrl.robot.visual.link_shapes import LinkShape, ModelShapes
from ukctrl.robot.visual.mesh_files import BUDGET, MeshFiles, decimate
from ukctrl.robot.visual.urdf_visuals import urdf_visuals
from ukctrl.robot.visual_sources import ShapeKind, VisualSource


def model_shapes(model: VisualSource, kind: ShapeKind = "visual") -> ModelShapes:
    """Return the shapes of a model file, those it shows or those that collide; a shape that is
    unfit is left out and told.
    """
    if model.shapes is not None:
        shapes: ModelShapes = model.shapes(kind)
        return shapes
    source, files = read_model(model.text), MeshFiles(model.path, model.packages)
    if source.format == "URDF":
        return urdf_visuals(source.root, model.prefix, files, kind)
    return ModelShapes(())


def fit_triangle_budget(visuals: list[LinkShape]) -> tuple[list[LinkShape], str]:
    """Return visuals with as many triangles as a page can bear, and a note if some are fewer."""
    total = sum(len(one.mesh.faces) for one in visuals)
    if total <= BUDGET:
        return visuals, ""
    share = BUDGET / total
    fewer = [
        one._replace(mesh=decimate(one.mesh, max(24, int(share * len(one.mesh.faces)))))
        for one in visuals
    ]
    count = sum(len(one.mesh.faces) for one in fewer)
    return fewer, f"The meshes have {total} triangles; they are drawn with {count}."
