"""The shapes of links in model files."""

from __future__ import annotations

from ukctrl.robot.geometry.link_shapes import ModelShapes
from ukctrl.robot.geometry.mesh_files import MeshFiles
from ukctrl.robot.geometry.urdf_shapes import urdf_shapes
from ukctrl.robot.models.model_source import read_model
from ukctrl.robot.shape_sources import ShapeKind, ShapeSource


def model_shapes(model: ShapeSource, kind: ShapeKind = "visual") -> ModelShapes:
    """Return the shapes of a model file, those it shows or those that collide; a shape that is
    unfit is left out and told.
    """
    if model.shapes is not None:
        shapes: ModelShapes = model.shapes(kind)
        return shapes
    source, files = read_model(model.text), MeshFiles(model.path, model.packages)
    if source.format == "URDF":
        return urdf_shapes(source.root, model.prefix, files, kind)
    return ModelShapes(())
