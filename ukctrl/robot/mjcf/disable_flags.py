"""What a compiled model switches off."""

from __future__ import annotations

from typing import Any, NamedTuple


class EnabledForces(NamedTuple):
    """Whether kinds of forces act, as ``<option><flag .../>`` says."""

    gravity: bool
    spring: bool
    damper: bool
    friction: bool
    limit: bool
    equality: bool
    actuation: bool
    clamp: bool

    @classmethod
    def of(cls, mujoco: Any, m: Any) -> EnabledForces:
        """Read the flags of a model."""
        off, bits = int(m.opt.disableflags), mujoco.mjtDisableBit
        constraint = not off & bits.mjDSBL_CONSTRAINT

        def on(name: str) -> bool:
            return not off & getattr(bits, f"mjDSBL_{name}")

        return cls(
            on("GRAVITY"),
            on("SPRING"),
            on("DAMPER"),
            constraint and on("FRICTIONLOSS"),
            constraint and on("LIMIT"),
            constraint and on("EQUALITY"),
            on("ACTUATION"),
            on("CLAMPCTRL"),
        )
