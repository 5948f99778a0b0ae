"""Bodies that float, on a ground or above it, and nobody steers."""

import dataclasses as dc

from ukctrl import Robot, Scenario, simulate
from ukctrl.control import NoControl
from ukctrl.robot import Options
from ukctrl.simulation.scenario import StartState, Timing


def inertial(mass, x, y, z):
    """Return the inertia of a link of a URDF."""
    inertia = f'ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"'
    return f'<inertial><mass value="{mass}"/><inertia {inertia}/></inertial>'


def free(urdf, *passive, **options):
    """Return a robot whose first link floats."""
    robot = Robot.build(urdf, Options(floating_base=True, **options))
    return dc.replace(robot, passive=passive)


def run_of(robot, q, v, duration=1.0, sample=0.01, **more):
    """Return a run of a robot that is left alone."""
    return simulate(
        Scenario(
            title="on the ground",
            robot=robot,
            servo=(),
            controller=NoControl(),
            start=StartState(q=tuple(map(float, q)), v=tuple(map(float, v))),
            timing=Timing(duration=duration, sample=sample),
            **more,
        )
    )


def completed(run):
    """Return a run, which has come to its end."""
    assert run.status == "completed", run.message
    return run
