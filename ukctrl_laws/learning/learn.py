"""Trials: the same task from the same start, again and again, each better than the one before."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.mechanics.constraints import Stack
from ukctrl.robot import Robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import AnyScenario, Scenario, as_scenario
from ukctrl.simulation.simulate import simulate
from ukctrl.studies.batch.run_summary import repeat_seed
from ukctrl.studies.batch.task import ProgressCallback
from ukctrl_laws.learning.ilc_update import Learning, feedback_acceleration, feedback_gains
from ukctrl_laws.learning.learning_result import (
    END_TRIALS,
    DemandTerms,
    LearningResult,
    LearningTrial,
    write_correction,
)


@explain_argument_errors
def learn(
    scenario: AnyScenario,
    learning: Learning | None = None,
    *,
    folder: AnyPath,
    progress: ProgressCallback | None = None,
) -> LearningResult:
    """Repeat a task on its plant, and learn from each trial what to add to the rows' demand.

    The law is the scenario's servo law, whose ``learned`` part gets what is learnt. It knows of a
    trial what it measures in it, no more. Noise differs from trial to trial; plant, payload, path
    and start are the same. Of a law that has learnt before, the trials go on from there.

    Args:
        scenario: What to repeat: a scenario, its name, or the path of its file.
        learning: How to learn; absent: ten trials.
        folder: Where the corrections go, ``after-1.csv`` and so on.
        progress: Called with the trials done and asked for.

    Returns:
        The trials: number 0 without what is learnt here, and the last with all of it; where the
        user has stopped them, those until then.

    Raises:
        InputError: The task does not repeat itself, or its law has no linear feedback of rows.
        KeyboardInterrupt: The user has stopped it before the first trial was done.
    """
    scenario, learning = as_scenario(scenario), learning or Learning()
    loop, base = _prepare_task(scenario)
    period, law = scenario.timing.control, loop.law
    assert period is not None  # or _ready had refused it
    times = np.array(loop.tick_times)
    learning.checked(period, len(times))
    gains = feedback_gains(base.controller.error_polynomials(law.stack), law.stack.holonomic)
    prior = getattr(base.controller, "learned", None)
    c, done = np.zeros((len(times), len(law.stack))), 0
    if prior is not None:
        done, (at, corrections) = prior.trials, prior.attach(law.task, law.stack)
        c = np.column_stack([np.interp(times, at, row) for row in corrections.T])
    trials: list[LearningTrial] = []
    results: list[Result] = []
    demands: list[DemandTerms] = []
    variant, learned, folder = base, base, Path(folder)
    stopped = False
    try:
        for number in range(learning.trials + 1):
            seeded = variant.replace({"seed": repeat_seed(scenario.seed, number)})
            result = simulate(seeded, robot=loop.robot)
            if result.stopped_by_user or result.status == "interrupted":
                raise KeyboardInterrupt
            trials.append(LearningTrial.of(done + number, result))
            results, learned = [*results[:1], result], variant
            if result.status != "completed":
                break
            beta, phi = _measured_errors(result, loop.believed_model.robot, law.stack, len(times))
            demands = [
                *demands[:1],
                DemandTerms(c, feedback_acceleration(beta, phi, period, gains)),
            ]
            if progress is not None:
                progress(number, learning.trials)
            if number == learning.trials:
                break
            c = learning.next_correction(c, beta, phi, period, gains)
            file = write_correction(folder, done + number + 1, times, c, law.stack.names)
            table = {"file": str(file), "trials": done + number + 1}
            variant = base.replace({"controller.learned": table})
    except KeyboardInterrupt:
        if not trials:
            raise
        stopped = True
    return LearningResult(
        scenario=scenario,
        learning=learning,
        trials=tuple(trials),
        learned=learned,
        times=times,
        results=dict(zip(END_TRIALS, results, strict=False)),
        demands=dict(zip(END_TRIALS, demands, strict=False)),
        stopped=stopped,
    )


def _prepare_task(scenario: Scenario) -> tuple[Loop, Scenario]:
    """Return the loop of a task that repeats itself, and the task with a sample at every tick."""
    if scenario.timing.control is None:
        raise InputError("learning goes tick by tick; give timing.control.")
    if scenario.start.spread:
        raise InputError("learning needs the same start in every trial; remove start.spread.")
    if scenario.start.planned or "learned" not in _fields(scenario):
        raise InputError(
            "learning corrects what a servo law demands of its rows; take one with "
            "-c servo-baumgarte or another card of kind 'servo'."
        )
    base = scenario.replace({"timing.sample": scenario.timing.control})
    loop = Loop(base)
    second_loop = Loop(base.replace({"seed": repeat_seed(scenario.seed, 1)}), loop.robot)
    pairs = zip(loop.effects.plants, second_loop.effects.plants, strict=True)
    if any(_robots_differ(one.robot, peer.robot) for one, peer in pairs):
        raise InputError(
            "learning needs the same plant in every trial; an effect draws another one with each "
            "seed, as mismatch does. Say what is wrong with the model in [believed] instead."
        )
    return loop, base


def _fields(scenario: Scenario) -> set[str]:
    return set(getattr(type(scenario.controller), "__dataclass_fields__", ()))


def _robots_differ(one: Robot, peer: Robot) -> bool:
    """Return whether two robots move differently from the same state."""
    q, v = one.neutral, np.ones(one.nv)
    this, that = one.snapshot(q, v), peer.snapshot(q, v)
    return not (
        np.array_equal(this.M, that.M)
        and np.array_equal(this.nle, that.nle)
        and np.array_equal(this.f, that.f)
    )


def _measured_names(name: str) -> tuple[str, ...]:
    """Return what a law may have seen of a state, what it goes by first."""
    return f"{name}_estimated", f"{name}_measured", name


def _measured_errors(
    result: Result, robot: Robot, stack: Stack, ticks: int
) -> tuple[Matrix, Matrix]:
    """Return velocity and position errors of the rows at the ticks, as the law saw them."""
    samples = result.samples
    q, v = (
        next(samples[channel] for channel in _measured_names(name) if channel in samples)
        for name in ("q", "v")
    )
    time: Vector = samples["time"]
    beta, phi = np.empty((2, ticks, len(stack)))
    for k in range(ticks):
        rows = stack.write(robot.snapshot(q[k], v[k], float(time[k])))
        beta[k], phi[k] = rows.beta, rows.phi
    return beta, phi
