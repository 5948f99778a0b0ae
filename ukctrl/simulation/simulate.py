"""One run: a scenario in, a result out."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping

from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Array
from ukctrl.core.errors import UkctrlError
from ukctrl.robot import Robot
from ukctrl.simulation.loop.closed_loop import Loop
from ukctrl.simulation.loop.joint_error import joint_error
from ukctrl.simulation.loop.provenance import observed, provenance
from ukctrl.simulation.loop.recorder import Recorder
from ukctrl.simulation.loop.running import Progress
from ukctrl.simulation.loop.scenario_robots import true_robot
from ukctrl.simulation.loop.simulation import Simulation
from ukctrl.simulation.result.plain_files import writable
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.result import Result, Status
from ukctrl.simulation.result.samples import Samples, Signal, checked
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.scenario.scenario import TableOf

Watch = Callable[[Recorder], None]
"""Called now and then with what is recorded so far, which it may read; see `Recorder.since`."""


@one_blas_thread()
def simulate(
    scenario: Scenario,
    *,
    progress: Progress | None = None,
    planning: Progress | None = None,
    watch: Watch | None = None,
    robot: Robot | None = None,
) -> Result:
    """Run a scenario in closed loop.

    A run never raises for what happens in it: `Result.status` and `Result.message` tell, and
    the samples up to that moment are kept. Ctrl-C ends it as ``interrupted`` in the same way.

    Args:
        scenario: What to run.
        progress: Called now and then with the time reached and the duration [s].
        planning: Called in the same way while the controller works out a motion before the run.
        watch: Called now and then with the samples so far, such as to show them; it changes
            nothing of the run.
        robot: The scenario's robot, where it has been loaded before.

    Raises:
        InputError: The scenario does not fit its robot, such as an unknown frame.
    """
    with _ready(scenario, robot, planning, whole=True) as loop:
        began = time.perf_counter()
        status, message, samples = _ran(loop, _watched(loop, progress or _silent, watch))
        wall = time.perf_counter() - began
        timing = {"wall_seconds": wall, **loop.timing()}
        return Result.of(
            samples,
            status=status,
            message=message,
            scenario=scenario.to_table(),
            provenance=provenance(loop, samples, timing) | {"loop": loop.compiled()},
        )


@one_blas_thread()
def measure(
    scenario: Scenario,
    *,
    timed: bool = True,
    progress: Progress | None = None,
    robot: Robot | None = None,
) -> Result:
    """Run a scenario as `simulate` does, for metrics and verdicts alone.

    Its provenance has what verdicts go by, and the law's time where that is asked (``timed``).
    """
    with _ready(scenario, robot, None, whole=False) as loop:
        status, message, samples = _ran(loop, progress or _silent)
        timing = {"timing": loop.timing()} if timed else {}
        return Result(
            status=status,
            message=writable(message),
            scenario=TableOf(scenario),
            provenance=observed(loop, samples, drawn=False) | timing,
            samples=samples,
        )


class _Last(threading.local):
    """The loop that ran last in each thread: it may be what the next scenario needs."""

    loop: Simulation | None = None


_LAST = _Last()


@contextlib.contextmanager
def _ready(
    scenario: Scenario, robot: Robot | None, planning: Progress | None, *, whole: bool
) -> Iterator[Simulation]:
    """Yield a loop at its start, that of the run before where it can run this scenario too.

    Args:
        scenario: What is run.
        robot: Its robot, where that has been loaded.
        planning: Called while a plan is made.
        whole: Whether all is recorded, also what no metric and no verdict asks for.
    """
    loop, _LAST.loop = _LAST.loop, None  # a law may simulate, too
    robot = robot or true_robot(scenario.robot)
    again = loop is not None and planning is None and loop.recorder.trail.effects_tell is whole
    if loop is None or not again or not loop.begin_again(scenario, robot):
        loop = Simulation(scenario, robot, planning)
        loop.recorder.trail.effects_tell = whole
        loop.make_room()
    yield loop
    if loop.fit_for_more:
        _LAST.loop = loop


def _ran(loop: Simulation, progress: Progress) -> tuple[Status, str, Samples]:
    """Run a loop; return how it ended, why, and what was recorded."""
    recorder = loop.recorder
    status, message = loop.run(progress)
    arrays = recorder.samples()
    signals, complaint = _signals(loop, arrays)
    message = (
        f"{message.rstrip('.')}. {complaint}" if message and complaint else message + complaint
    )
    samples = Samples.build(
        arrays["time"],
        {name: array for name, array in arrays.items() if name in FIELDS},
        recorder.labels,
        signals,
        store=recorder.store,
    )
    return status, message, samples


def _signals(loop: Loop, arrays: Mapping[str, Array]) -> tuple[dict[str, Signal], str]:
    """Return what to record beside the samples; a fault in it must not cost the run."""
    signals: dict[str, Signal] = {}
    recorder, time = loop.recorder, arrays["time"]
    try:
        signals.update(recorder.signals(arrays))
        if loop.scenario.monitor.joint_error:
            signals.update(joint_error(recorder.servo, time, arrays["q"]))
        signals = {name: checked(name, signal, len(time)) for name, signal in signals.items()}
    except (UkctrlError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        return {}, f"the controller's signals are left out: {error}"
    except KeyboardInterrupt:
        return {}, "the signals are left out: stopped by the user."
    return signals, ""


def _watched(loop: Loop, progress: Progress, watch: Watch | None) -> Progress:
    if watch is None:
        return progress

    def told(reached: float, duration: float) -> None:
        progress(reached, duration)
        watch(loop.recorder)

    return told


def _silent(reached: float, duration: float) -> None:
    """Show no progress."""
