"""Where a robot's file has shapes: models, pictures, a linkage; unread until somebody asks."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from ukctrl.robot.schema.linkage_tables import Linkage
from ukctrl.robot.schema.picture_tables import AnyPicture, ForcePicture, SeenPicture

ShapeKind = Literal["visual", "collision"]
"""Shapes of links for looking at, or those that collide."""


class ShapeSource(NamedTuple):
    """A model file whose links may have shapes."""

    text: str
    path: Path | None
    """Where its meshes are looked for; None: it has no place on a disk."""
    prefix: str = ""
    """What stands before the names of its links in the robot."""
    packages: tuple[Path, ...] = ()
    """Folders in which packages are looked for first."""
    shapes: Callable[[ShapeKind], Any] | None = None
    """What returns its `ModelShapes` where another library reads them."""


@dc.dataclass(frozen=True)
class ShapeSources:
    """What a robot has shapes from, beside its joints and bodies."""

    pictures: tuple[AnyPicture, ...] = ()
    models: tuple[ShapeSource, ...] = ()
    linkage: Linkage | None = None

    @property
    def bodies(self) -> tuple[SeenPicture, ...]:
        """The pictures of what is always there."""
        return tuple(cast("SeenPicture", picture) for picture in self.pictures if picture.is_body)

    @property
    def forces(self) -> tuple[ForcePicture, ...]:
        """Those that say where forces of a run act."""
        return tuple(
            cast("ForcePicture", picture) for picture in self.pictures if not picture.is_body
        )


NO_SOURCES = ShapeSources()
