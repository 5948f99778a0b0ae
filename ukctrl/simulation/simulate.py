"""One run: a scenario in, a result out."""

from __future__ import annotations

import time

from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.robot import Robot
from ukctrl.simulation.loop import Loop, Progress
from ukctrl.simulation.loop.joint_error import joint_error
from ukctrl.simulation.loop.provenance import beyond_limits, provenance
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.samples import Samples, Signal
from ukctrl.simulation.scenario import Scenario


@one_blas_thread()
def simulate(
    scenario: Scenario, *, progress: Progress | None = None, robot: Robot | None = None
) -> Result:
    """Run a scenario in closed loop.

    A run never raises for what happens in it: `Result.status` and `Result.message` tell, and
    the samples up to that moment are kept. Ctrl-C ends it as ``interrupted`` in the same way.

    Args:
        scenario: What to run.
        progress: Called with the time reached and the duration [s] at every sample.
        robot: The scenario's robot, where it has been loaded before.

    Raises:
        InputError: The scenario does not fit its robot, such as an unknown frame.
    """
    loop = Loop(scenario, robot)
    began = time.perf_counter()
    status, message = loop.run(progress or _silent)
    samples_at, arrays = loop.recorder.samples()
    signals, complaint = _signals(loop, samples_at, arrays["q"])
    message = (
        f"{message.rstrip('.')}. {complaint}" if message and complaint else message + complaint
    )
    return Result.build(
        time=samples_at,
        samples=arrays,
        signals=signals,
        labels=loop.recorder.labels(),
        status=status,
        message=message,
        scenario=scenario.to_table(),
        provenance=provenance(
            scenario,
            loop.robot,
            wall_seconds=time.perf_counter() - began,
            ticks=loop.recorder.ticks,
            tick_seconds=loop.recorder.tick_seconds,
            moved=loop.moved,
            switches=loop.switches,
            effects=loop.conditions.facts(),
            random=loop.conditions.random,
            gains=loop.truth.gains,
            passive=loop.recorder.passive(),
            beyond_limits=beyond_limits(loop.robot, samples_at, arrays["q"], arrays["v"]),
            rows_demanded=loop.recorder.rows_demanded(),
        ),
    )


def _signals(loop: Loop, time: Vector, q: Matrix) -> tuple[dict[str, Signal], str]:
    """Return what to record beside the samples; a fault in it must not cost the run."""
    signals: dict[str, Signal] = {}
    try:
        signals.update(loop.recorder.signals())
        if loop.scenario.monitor.joint_error:
            signals.update(joint_error(loop.recorder.servo, time, q))
        if signals:
            Samples.build(time, {}, loop.recorder.labels(), signals)
    except (UkctrlError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        return {}, f"the controller's signals are left out: {error}"
    except KeyboardInterrupt:
        return {}, "the signals are left out: stopped by the user."
    return signals, ""


def _silent(reached: float, duration: float) -> None:
    """Show no progress."""
