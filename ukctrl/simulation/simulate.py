"""One run: a scenario in, a result out."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, final

from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Array
from ukctrl.core.errors import UkctrlError
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.loop import Loop
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.provenance import provenance, verdict_facts
from ukctrl.simulation.record.joint_error import joint_error
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.result.atomic_files import utf8_text
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.result import Result, Status
from ukctrl.simulation.result.samples import Samples, SignalSeries, check_signal
from ukctrl.simulation.scenario import AnyScenario, Scenario, as_scenario
from ukctrl.simulation.step.simulation_run import SimulationRun
from ukctrl.simulation.step.stepper import Progress


@explain_argument_errors
@one_blas_thread()
def simulate(
    scenario: AnyScenario,
    *,
    progress: Progress | None = None,
    planning: Progress | None = None,
    robot: Robot | None = None,
) -> Result:
    """Run a scenario in closed loop.

    A run never raises for what happens in it: `Result.status` and `Result.message` tell, and
    the samples up to that moment are kept. Ctrl-C ends it as ``interrupted`` in the same way.

    Args:
        scenario: What to run: a scenario, its name, or the path of its file.
        progress: Called now and then with the time reached and the duration [s].
        planning: Called in the same way while the controller works out a motion before the run.
        robot: The scenario's robot, where it has been loaded before.

    Raises:
        InputError: The scenario does not fit its robot, such as an unknown frame.
    """
    scenario = as_scenario(scenario)
    with _reusable_run(scenario, robot, planning, whole=True) as run:
        began = time.perf_counter()
        status, message, samples = _run_and_collect(run, progress or _silent)
        wall = time.perf_counter() - began
        timing = {"wall_seconds": wall, **run.timing()}
        return Result.from_samples(
            samples,
            status=status,
            message=message,
            scenario=scenario.to_table(),
            provenance=provenance(run, samples, timing) | {"loop": run.compiled()},
        )


@one_blas_thread()
def simulate_for_metrics(
    scenario: Scenario,
    *,
    timed: bool = True,
    progress: Progress | None = None,
    robot: Robot | None = None,
) -> Result:
    """Run a scenario as `simulate` does, for metrics and verdicts alone.

    Its provenance has what verdicts go by, and the law's time where that is asked (``timed``).
    """
    with _reusable_run(scenario, robot, None, whole=False) as run:
        status, message, samples = _run_and_collect(run, progress or _silent)
        timing = {"timing": run.timing()} if timed else {}
        return Result(
            status=status,
            message=utf8_text(message),
            scenario=_LazyTable(scenario),
            provenance=verdict_facts(run, samples, drawn=False) | timing,
            samples=samples,
        )


@final
class _LazyTable(Mapping[str, Any]):
    """The table of a scenario, made when it is first looked at."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    @functools.cached_property
    def _table(self) -> dict[str, Any]:
        return self._scenario.to_table()

    def __getitem__(self, key: str) -> Any:
        return self._table[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class _ReusableRun(threading.local):
    """The run that came last in each thread: its loop may be what the next scenario needs."""

    run: SimulationRun | None = None


_LAST = _ReusableRun()


@contextlib.contextmanager
def _reusable_run(
    scenario: Scenario, robot: Robot | None, planning: Progress | None, *, whole: bool
) -> Iterator[SimulationRun]:
    """Yield a run at its start, with the loop of the run before where that fits this scenario too.

    Args:
        scenario: What is run.
        robot: Its robot, where that has been loaded.
        planning: Called while a plan is made.
        whole: Whether all is recorded, also what no metric and no verdict asks for.
    """
    # a law may simulate, too: it must not be given the loop that is running
    run, _LAST.run = _LAST.run, None
    robot = robot or true_robot(scenario.robot)
    # a reused loop has made its plan, and would never call `planning`
    again = (
        run is not None
        and planning is None
        and run.recorder.effects.records_effect_signals is whole
    )
    # tables are reused where they fit: a sample of panda-pose-sampled takes 4.8 ms beside its
    # motion, and 11.4 with a new loop
    if run is None or not again or not run.reuse_for(scenario, robot):
        loop = Loop(scenario, robot, planning)
        run = SimulationRun(loop, Recorder(loop, effect_signals=whole))
        run.allocate()
    yield run
    # never reached where the run has raised: nobody knows what its arrays hold then
    if run.is_reusable:
        _LAST.run = run


def _run_and_collect(run: SimulationRun, progress: Progress) -> tuple[Status, str, Samples]:
    """Run to the end; return how it ended, why, and what was recorded."""
    recorder = run.recorder
    status, message = run.run(progress)
    arrays = recorder.samples()
    signals, complaint = _signals(run.loop, recorder, arrays)
    message = (
        f"{message.rstrip('.')}. {complaint}" if message and complaint else message + complaint
    )
    samples = Samples.build(
        arrays["time"],
        # the store has signals as well, of which the recorder makes series
        {name: array for name, array in arrays.items() if name in FIELDS},
        recorder.labels,
        signals,
        store=recorder.store,
    )
    return status, message, samples


def _signals(
    loop: Loop, recorder: Recorder, arrays: Mapping[str, Array]
) -> tuple[dict[str, SignalSeries], str]:
    """Return what to record beside the samples; a fault in it must not cost the run."""
    signals: dict[str, SignalSeries] = {}
    time = arrays["time"]
    try:
        signals.update(recorder.signals(arrays))
        if loop.scenario.monitor.joint_error:
            signals.update(joint_error(loop.servo, time, arrays["q"]))
        signals = {name: check_signal(name, signal, len(time)) for name, signal in signals.items()}
    except (UkctrlError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        return {}, f"the controller's signals are left out: {error}"
    except KeyboardInterrupt:
        # all samples are there: Ctrl-C costs what is made of them afterwards, and not the run
        return {}, "the signals are left out: stopped by the user."
    return signals, ""


def _silent(reached: float, duration: float) -> None:
    """Show no progress."""
