"""What a robot's file says of its looks, unread until somebody wants to see it."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from ukctrl.robot.schema.linkage_tables import Linkage
from ukctrl.robot.schema.picture_tables import AnyPicture, Push, SeenPicture

ShapeKind = Literal["visual", "collision"]
"""Shapes of links for looking at, or those that collide."""


class ModelText(NamedTuple):
    """A model file that may show its links."""

    text: str
    path: Path | None
    """Where its meshes are looked for; None: it has no place on a disk."""
    prefix: str = ""
    """What stands before the names of its links in the robot."""
    packages: tuple[Path, ...] = ()
    """Folders in which packages are looked for first."""
    shapes: Callable[[ShapeKind], Any] | None = None
    """What returns its `Visuals` where another library reads them."""


@dc.dataclass(frozen=True)
class Appearance:
    """What there is to draw a robot from, beside its joints and bodies."""

    pictures: tuple[AnyPicture, ...] = ()
    models: tuple[ModelText, ...] = ()
    linkage: Linkage | None = None

    @property
    def seen(self) -> tuple[SeenPicture, ...]:
        """The pictures of what is always there."""
        return tuple(cast("SeenPicture", each) for each in self.pictures if each.is_body)

    @property
    def pushes(self) -> tuple[Push, ...]:
        """Those that say where forces of a run act."""
        return tuple(cast("Push", each) for each in self.pictures if not each.is_body)


NOTHING_SAID = Appearance()
