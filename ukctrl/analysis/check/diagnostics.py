"""What the findings mean for a run, and what follows from what.

A *problem* (level ``bad``) stands in the way of the run: the law stops, or the error grows. A
*warning* says that the task asks for more than the robot has, though the run goes on: limits bind
only where the bench enforces them, and some laws give way. A *note* is worth knowing.

A row that no motor reaches makes the law give up, the motors miss the motion and inputs pass their
limits: four sentences, of which the first has the cure. `CAUSED_BY` says which kinds of diagnostic
may follow from which, and the motion whether they come together in time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ukctrl.analysis.check.check_result import (
    Diagnostic,
    MotionCheck,
    RootCause,
    RowCheck,
    StartCheck,
    TaskMotionSummary,
)
from ukctrl.analysis.check.contact_phases import ContactSchedule, sticking_contacts
from ukctrl.analysis.check.input_feasibility import ContactLoad, Feasibility
from ukctrl.analysis.check.limit_usage import LimitUsage
from ukctrl.analysis.check.loop_stability import CERTAIN_GROWTH, LoopStability, TrialRun
from ukctrl.analysis.check.motion_ranks import MotionRanks, ObservabilitySample, RankHistory
from ukctrl.analysis.check.safety_feasibility import (
    LIMIT_TOLERANCE,
    MAX_NAMED,
    InfeasibleInterval,
    SlackCurves,
)
from ukctrl.analysis.check.sentences import applicable_remedy, diagnose
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.analysis.check.timing import (
    SLOW_DECAY_RATIO,
    TIMING_NOTE_FACTOR,
    PathTiming,
    SampledError,
)
from ukctrl.control.allocation.allocation import AllocationBehaviour
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.core.algebra.input_authority import WEAK_AUTHORITY
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError, quoted
from ukctrl.core.number_text import percent, si
from ukctrl.core.verdict import Level
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import Rows
from ukctrl.mechanics.timing import describe_binding
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.events.event_schedule import TIME_RTOL
from ukctrl.simulation.result.verdicts.error_floor import SLIPPERY

SIGMA_WARNING, SIGMA_PROBLEM = 1e-3, 1e-5
"""Singular values of unit rows that are worth a warning, and that no integrator passes under a law
without damping."""
NEAR_SINGULAR = 0.02
"""Singular values of unit rows below which a singular position is near."""
END_WINDOW = 0.05
"""What happens so shortly before a motion ends belongs to its end [s]."""
PATH_TOLERANCE = 1e-6
"""A row that nothing moves must be on its path by less [unit]."""
TOUCHDOWN_TOLERANCE = 5e-3
"""A foot that is no higher when it is counted on again comes down all the same [m]."""
MAX_VIOLATIONS = 6
"""Of more motors or joints beyond a limit, the others are counted."""
UNACTUATED_RTOL = 1e-9
"""A row of which motors accelerate a smaller part is out of their reach."""
OPPOSITE_RTOL = 1e-9
"""Two rows are opposed when their directions differ from that by less than this."""
WEAK_SIGMA = 1e-3
"""A smaller value is worth a warning: noise in what is measured is a thousandfold in the state."""
AUTHORITY_SUBJECTS = ("degree", "held", "motion", "law", "ranks", "grip", "missed", "unmoved")
"""What is said of rows that the motors do not move."""


def diagnostics(
    loop: Loop,
    lifts: ContactSchedule,
    motion: TaskMotion,
    start: tuple[StartCheck, Sequence[Diagnostic]],
    along: MotionCheck,
    samples: Sequence[ObservabilitySample],
    about_internal: Iterable[Diagnostic],
) -> tuple[tuple[RootCause, ...], tuple[Diagnostic, ...]]:
    """Return what stands in the way of a run by cause, and all that is said, in that order.

    Args:
        loop: The scenario, ready to run.
        lifts: Its contacts that are lifted.
        motion: The motion that its task asks for.
        start: What the start alone tells, and what that means.
        along: What the motion tells.
        samples: What an observer sees along it.
        about_internal: What is said of the internal dynamics.
    """
    problems = [entry.text for entry in start[1] if entry.level == "bad"]
    entries = [
        *start[1],
        *(  # a problem of the start is not told once more of the motion
            entry
            for entry in motion_diagnostics(loop, start[0].rows, along)
            if entry.level != "bad" or not any(text in entry.text for text in problems)
        ),
        *safety_diagnostics(loop, along, lifts),
        *observability_diagnostics(samples),
        *lift_diagnostics(lifts, motion),
        *about_internal,
    ]
    entries = list(relax_sticking(loop, entries))
    causes = root_causes(entries, along)
    return causes, tuple(order_by_cause(causes, entries))


def motion_diagnostics(
    loop: Loop, rows: tuple[RowCheck, ...], along: MotionCheck
) -> Iterator[Diagnostic]:
    """Yield what the findings along a motion mean, and what helps with the law that there is."""
    allocation, timing = loop.scenario.controller.row_allocation, along.timing
    shares = None if allocation is None else allocation.behaviour(loop.law.task)
    bounds = shares is not None and not shares.respects_limits
    slower = None if timing is None else 0.0 < timing.rate < 1.0
    for entry in _motion_diagnostics(loop, rows, along, shares):
        cure = applicable_remedy(
            entry.remedy, gives_way=shares is not None, bounds=bounds, slower=slower
        )
        yield entry._replace(remedy=cure)


def _motion_diagnostics(
    loop: Loop, rows: tuple[RowCheck, ...], along: MotionCheck, shares: AllocationBehaviour | None
) -> Iterator[Diagnostic]:
    controller, trajectory = loop.scenario.controller, along.way
    # Who stops decides: a law that gives way turns problems into warnings.
    strict = controller.needs_grip if shares is None else shares.raises_if_infeasible
    grave: Level = "bad" if strict else "warning"
    if trajectory.stop is not None:
        # That the default law stops says nothing of the scenario's own.
        level = "note" if trajectory.stop.why == "law" and shares is None else grave
        case = "motion" if strict else "motion: gives way"
        # Kept limits lead a run elsewhere before a law that runs without them stops.
        if trajectory.stop.why == "law" and along.left is not None and along.left.crossed.any():
            case, level = "motion: without limits", "warning" if level == "bad" else level
        yield diagnose(case, level, {"stop": trajectory.stop}, helps=trajectory.stop.why != "law")
    if trajectory.lost:
        yield diagnose("lost", "bad", {"why": trajectory.lost})
    if trajectory.yields:
        yield diagnose("motion: yields", "note", {"names": quoted(trajectory.yields)})
    weak = along.weak_grip
    direct_rows = {row.name for row in rows if row.relative_degree in (1, 2)}  # others are told
    if weak is not None and (weak.hold == "weak" or weak.row in direct_rows):
        level = _sigma_level(weak.weakest, grave) if controller.needs_grip else "note"
        yield diagnose("weak", level, {"text": weak.text})
    if along.ranks is not None:
        unmoved = along.ranks.unmoved
        off = [row.name for row in rows if row.name in unmoved and abs(row.phi) > PATH_TOLERANCE]
        if off:
            yield diagnose("unmoved", "bad", {"names": quoted(off)})
        stopped = trajectory.reached if trajectory.stop is not None else math.inf
        yield from _rank_diagnostics(along.ranks, grave, stopped, needs_grip=controller.needs_grip)
    if along.feasibility is not None:
        slows = shares is not None and shares.respects_limits
        needs_grip = controller.needs_grip
        yield from _limit_diagnostics(along.feasibility, grave, needs_grip=needs_grip, slows=slows)
        # Contacts whose forces the filter keeps are judged there, and not by the ground.
        served = along.kept.contacts if along.kept and not along.kept.stretches else ()
        ground = (load for load in along.feasibility.ground if load.name not in served)
        yield from _contact_diagnostics(ground)
    if along.timing is not None:
        yield from _timing_diagnostics(along.timing, trajectory)
    if along.optimum is not None and along.optimum.end - trajectory.end > TIME_RTOL:
        yield diagnose("timing: optimised", "note", {"optimum": along.optimum})
    periods = [] if along.sampling is None else list(_period_diagnostics(along.sampling))
    yield from periods
    if along.stability is not None and along.stability.diverges:
        told = any(entry.level == "bad" for entry in periods)  # the error's period is to blame
        yield from () if told else _loop_diagnostics(along.stability, along.trial)
    elif along.trial is not None and along.trial.status != "completed":
        yield diagnose("loop: trial", "bad", {"trial": along.trial})


def lift_diagnostics(lifts: ContactSchedule, motion: TaskMotion) -> Iterator[Diagnostic]:
    """Yield what the ground holds of the task at first, and which contacts come down too late."""
    if not lifts:
        return
    waiting = dict[float, list[str]]()
    for block in lifts.phases[0].ground_blocks:
        free = [phase.start for phase in lifts.phases if block not in phase.ground_blocks]
        if free:
            waiting.setdefault(free[0], []).append(block)
    for t, blocks in waiting.items():
        yield diagnose("lifts: waits", "note", {"names": quoted(blocks), "t": t})
    for landing in lifts.touchdowns(motion.t, motion.q, motion.v) if len(motion.t) else ():
        if landing.height > TOUCHDOWN_TOLERANCE:
            values = {"landing": landing, "height": si(landing.height, "m")}
            yield diagnose("lifts: late", "warning", values, landing.t)
            return


def _rank_diagnostics(
    ranks: MotionRanks, grave: Level, stopped: float, *, needs_grip: bool
) -> Iterator[Diagnostic]:
    """Yield what the ranks along a motion mean; ``stopped`` is where it ends before the run [s]."""
    servo, grip, passive = ranks.servo, ranks.grip, ranks.passive
    values: dict[str, object] = {"servo": servo, "grip": grip, "passive": passive}
    # The end of the motion before the loss of rank, and that before nearness.
    if servo.worst_at >= stopped - END_WINDOW:
        pass  # the end of the motion itself, which is told already
    elif servo.lowest < servo.highest:
        values["lost"] = servo.highest - servo.lowest
        yield diagnose("ranks: lost", grave, values, servo.lowest_at, grave == "bad")
    elif servo.highest and servo.worst < NEAR_SINGULAR:
        level = _sigma_level(servo.worst, grave)
        yield diagnose("ranks: near", level, values, servo.worst_at, level == "bad")
    # Authority is judged only where the rows themselves are regular.
    if grip.lowest < grip.highest and servo.lowest == servo.highest:
        level = grave if needs_grip else "note"
        yield diagnose("grip: lost", level, values, grip.lowest_at)
    elif grip.highest and WEAK_AUTHORITY <= grip.worst < NEAR_SINGULAR <= servo.worst:
        level = "warning" if grip.worst < SIGMA_WARNING else "note"
        yield diagnose("grip: near", level, values, grip.worst_at)
    if passive.lowest < passive.highest:
        values["lost"] = passive.highest - passive.lowest
        yield diagnose("mechanism", "note", values)


def _sigma_level(sigma: float, grave: Level) -> Level:
    if sigma < SIGMA_PROBLEM:
        return grave
    return "warning" if sigma < SIGMA_WARNING else "note"


def _limit_diagnostics(
    demands: Feasibility, grave: Level, *, needs_grip: bool, slows: bool
) -> Iterator[Diagnostic]:
    """Yield what the motion takes that the robot has not."""
    missed, refused = demands.missed, demands.refused
    if missed is not None:
        level: Level = "bad" if needs_grip else "note"
        values = {"missed": missed, "share": percent(missed.share)}
        yield diagnose("missed", level, values, missed.t, needs_grip)
    if refused is not None:
        yield diagnose("law: gives up", grave, {"refused": refused}, refused.t)
    usages = (*demands.inputs, *(demands.law if not demands.inputs else ()))
    back = [use for use in usages if use.approach]
    yield from _violation_diagnostics("limits", "motor", "is asked by the law for", back)
    over = [use for use in demands.inputs if use.since is not None and not use.approach]
    if over and demands.elsewhere:
        yield diagnose("elsewhere", "note", {"names": quoted([use.name for use in over])})
    elif over:
        yield from _violation_diagnostics("limits", "motor", "needs", over)
        if slows:
            yield diagnose("gives way", "note")
    else:
        law_usages = (use for use in demands.law if not use.approach)
        yield from _violation_diagnostics("limits", "motor", "is asked by the law for", law_usages)
    yield from _violation_diagnostics("limits: rates", "motor", "must change by", demands.rates)
    yield from _violation_diagnostics("speed", "joint", "must move at", demands.velocities)
    yield from _violation_diagnostics("place", "joint", "must go to", demands.positions)


def _violation_diagnostics(
    case: str, element: str, does: str, uses: Iterable[LimitUsage]
) -> Iterator[Diagnostic]:
    """Yield a sentence for each of the worst uses that are beyond a limit."""
    violations = [use for use in uses if use.since is not None]
    for use in sorted(violations, key=lambda use: -(use.share or 0.0))[:MAX_VIOLATIONS]:
        values = {"element": element, "does": does, "use": use}
        yield diagnose("approach" if use.approach else case, "warning", values, use.t)
    if len(violations) > MAX_VIOLATIONS:
        values = {"element": element, "count": len(violations) - MAX_VIOLATIONS}
        more = diagnose("more", "warning", values, violations[0].t)
        yield more._replace(subject=case.partition(":")[0])


def _contact_diagnostics(ground: Iterable[ContactLoad]) -> Iterator[Diagnostic]:
    """Yield what a real ground would not do; of contacts whose forces are kept it is told apart."""
    for load in ground:
        if load.lifts is not None:
            values = {"load": load, "pull": -load.least}
            yield diagnose("ground: lifts", "warning", values, load.lifts)
        elif load.mu is not None and load.friction > load.mu:
            yield diagnose("ground: slides", "warning", {"load": load})
        elif load.friction > SLIPPERY:
            yield diagnose("ground: slips", "note", {"load": load})


def _timing_diagnostics(timing: PathTiming, trajectory: TaskMotionSummary) -> Iterator[Diagnostic]:
    """Yield by how much a motion is too fast, and whether a clock of retimed paths is its own."""
    retimed = timing.clock_ends is not None
    values: dict[str, object] = {"timing": timing, "binding": describe_binding(timing.binding)}
    if 0.0 < timing.rate < TIMING_NOTE_FACTOR:
        # advice that has been tried; where it was refused there is none
        yield diagnose("timing", "note", values, timing.t, timing.retimed is not None)
    if retimed and trajectory.kind == "law":
        yield diagnose("open", "warning")
    if timing.clock_ends is not None and timing.clock_ends > trajectory.end:
        yield diagnose("timing: retimed", "note", values)


def _period_diagnostics(sampling: SampledError) -> Iterator[Diagnostic]:
    """Yield whether the control period suits the gains."""
    period, rate = sampling.period, sampling.sampled_decay
    if period is None or rate is None or sampling.decay <= 0.0:
        return
    late = f" and a delay of {sampling.delay:.3g} s" if sampling.delay else ""
    values = {"sampling": sampling, "late": late}
    if period >= sampling.longest:
        yield diagnose("period: grows", "bad", values)
    elif rate < SLOW_DECAY_RATIO * sampling.decay:
        yield diagnose("period: slow", "warning", values)


def _loop_diagnostics(stability: LoopStability, trial: TrialRun | None) -> Iterator[Diagnostic]:
    """Yield that a mode grows, and whether a run that was tried confirms it."""
    late = f" and a delay of {stability.delay:.3g} s" if stability.delay else ""
    values = {"stability": stability, "late": late, "trial": trial}
    if not stability.of_hold:
        yield diagnose("loop: law", "warning", values, stability.worst_at)
    elif trial is not None and trial.returns:
        yield diagnose("loop: doubt", "warning", values, stability.worst_at)
    elif stability.recommended is None:
        yield diagnose("loop: gains", "bad", values, stability.worst_at)
    else:
        yield diagnose("loop: period", "bad", values, stability.worst_at)


# What the law keeps


def safety_diagnostics(
    loop: Loop, along: MotionCheck, lifts: ContactSchedule
) -> Iterator[Diagnostic]:
    """Yield whether the start is inside, which limits the exact task crosses, by how much, where
    no input keeps them beside the task, and where they contradict each other.
    """
    keeper = loop.law.keeper
    if keeper is None:
        return
    stack = keeper.stack_on(loop.robot)
    for doubt in keeper.warnings():
        yield diagnose("keep: doubt", "warning", {"text": doubt})
    try:
        yield from _unactuated_limits(keeper, loop, stack, lifts)
        q, v, _ = loop.state
        loop.plant.snapshot.move(q, v, loop.t0)
        rows = stack.write(loop.plant.snapshot)
        h, inward = keeper.margins_at(rows)
        yield from _start_limits(keeper, h, inward)
        yield from _opposed_limits(keeper, rows, h)
    except UkctrlError as error:
        yield diagnose("keep: unknown", "warning", {"where": "at the start", "why": error})
        return
    if along.kept_unknown:
        values = {"where": "all along the exact task", "why": along.kept_unknown}
        yield diagnose("keep: unknown", "warning", values)
    if along.left is not None and along.curves is not None:
        acts = loop.effects.acts_on_plant
        misjudges = acts or loop.believed_model.robot is not loop.robot
        args = along.left, along.curves.t, along.trial
        yield from _crossing_diagnostics(*args, misjudges=misjudges)
    for interval in along.kept.stretches if along.kept is not None else ():
        if interval.conflict or not interval.crossed:
            yield _infeasible_diagnostic(interval)


def _opposed_limits(keeper: SafetyFilter, rows: Rows, h: Vector) -> Iterator[Diagnostic]:
    """Yield which positions pull against each other at the start, with no room in between."""
    b, of = keeper.barriers, np.flatnonzero(keeper.barriers.degree == 2)
    inward = (b.sign[:, None] * rows.A[b.row])[of]
    size = np.linalg.norm(inward, axis=1)
    free = (h[: len(b.row)] - b.margin)[of]
    along = inward @ inward.T + size * size[:, None]
    gap = -(free * size[:, None] + free[:, None] * size)
    lacks = np.triu(
        (along < OPPOSITE_RTOL * size * size[:, None]) & (gap > LIMIT_TOLERANCE * size), 1
    )
    for i, k in list(zip(*np.nonzero(lacks), strict=True))[:MAX_NAMED]:
        names, unit = quoted([keeper.names[of[i]], keeper.names[of[k]]]), keeper.units[of[i]]
        values = {"names": names, "gap": si(float(gap[i, k] / size[k]), unit)}
        yield diagnose("keep: opposed", "warning", values)


def _infeasible_diagnostic(interval: InfeasibleInterval) -> Diagnostic:
    """Say of an interval that is not only beyond a limit that no input keeps all."""
    several = len(interval.limits) + len(interval.motors) != 1
    reason = "they contradict each other at" if several else "the worst is"
    case = "keep: conflict" if interval.conflict else "keep: task"
    return diagnose(case, "warning", {"interval": interval, "why": reason}, interval.start)


def _unactuated_limits(
    keeper: SafetyFilter, loop: Loop, stack: Stack, lifts: ContactSchedule
) -> Iterator[Diagnostic]:
    """Yield which quantities no input accelerates at the start, nor while contacts are lifted."""
    q, v, _ = loop.state
    lost = np.ones(len(keeper.barriers.row), dtype=bool)
    for t in (loop.t0, *(kind.middle for kind in lifts.distinct_phases[1:])):
        loop.plant.move(t, q, v)
        A, G = stack.write(loop.plant.snapshot).A[keeper.barriers.row], loop.plant.G
        size = np.linalg.norm(A, axis=1) * np.linalg.norm(G)
        lost &= np.linalg.norm(A @ G, axis=1) <= UNACTUATED_RTOL * size
    names = [keeper.names[i] for i in np.flatnonzero(lost)]
    if names:
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        values = {"names": quoted(names[:MAX_NAMED]), "more": more}
        yield diagnose("keep: unactuated", "warning", values)


def _start_limits(keeper: SafetyFilter, h: Vector, inward: Vector) -> Iterator[Diagnostic]:
    for k, (name, unit) in enumerate(zip(keeper.names, keeper.units, strict=True)):
        if h[k] < -LIMIT_TOLERANCE:
            values = {"name": name, "gap": si(-float(h[k]), unit)}
            yield diagnose("keep: start", "warning", values)
        elif inward[k] < -LIMIT_TOLERANCE:
            values = {"name": name, "gap": si(float(h[k]), unit)}
            yield diagnose("keep: start moves", "warning", values)


def _crossing_diagnostics(
    curves: SlackCurves, t: Vector, trial: TrialRun | None, *, misjudges: bool
) -> Iterator[Diagnostic]:
    """Yield of every block how much the exact task leaves, or by how much it is beyond.

    Args:
        curves: What the motion leaves.
        t: Its knots, shape ``(k,)`` [s].
        trial: A run that was tried.
        misjudges: Whether the robot that the law believes in is another than the true one.
    """
    blocks = curves.blocks[: curves.force_offset]
    unknown = np.asarray(np.isnan(curves.slack).any(axis=0))
    for block in dict.fromkeys(blocks):
        rows = [i for i, name in enumerate(blocks) if name == block and not unknown[i]]
        if not rows:  # of accelerations without any
            continue
        row = rows[int(np.argmin(curves.slack[:, rows].min(axis=0)))]
        h, unit = curves.slack[:, row], curves.units[row]
        crossed, slack = h < -LIMIT_TOLERANCE, float(h.min())
        if not crossed.any():
            yield diagnose("keep: inside", "note", {"name": block, "gap": si(slack, unit)})
            continue
        since = float(t[int(crossed.argmax())])
        values = {"name": curves.names[row], "gap": si(-slack, unit), "since": since}
        worst_at, names = float(t[int(h.argmin())]), {curves.names[i] for i in rows}
        values |= {"t": worst_at, "trial": trial}
        overruns = () if trial is None else trial.overruns
        overrun = next((one for one in overruns if one.name in names), None)
        if overrun is not None:
            values |= {"depth": si(overrun.depth, overrun.unit), "overrun": overrun}
            yield diagnose("keep: overrun", "warning", values, since)
            continue
        # a run that ends before the limit matters has not kept it
        ended = -math.inf if trial is None or trial.status != "completed" else trial.duration
        case = "keep: crossed" if worst_at <= float(t[0]) + ended else "keep: untried"
        yield diagnose(case, "warning", values, since, misjudges)


def observability_diagnostics(samples: Sequence[ObservabilitySample]) -> Iterator[Diagnostic]:
    """Yield what these looks mean for an observer."""
    if not samples:
        return
    blind = next((look for look in samples if look.unobservable), None)
    worst = min(samples, key=lambda look: look.sigma)
    if blind is not None:
        values = {"names": " and ".join(blind.unobservable), "look": blind}
        yield diagnose("observer: blind", "warning", values, blind.t)
    elif worst.sigma < WEAK_SIGMA:
        yield diagnose("observer: weak", "warning", {"look": worst}, worst.t)
    else:
        yield diagnose("observer", "note", {"look": worst, "count": len(samples)})


def relax_sticking(loop: Loop, entries: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield diagnostics; problems of rows that motors move where contacts slide as warnings."""
    grave = [entry.level == "bad" and entry.subject in AUTHORITY_SUBJECTS for entry in entries]
    names = sticking_contacts(loop) if any(grave) else ()
    cure = (
        f"Contacts {quoted(names)} are taken to stick here; where they slide the motors move all "
        "rows. Whether they do, a run tells."
    )
    for entry, of_authority in zip(entries, grave, strict=True):
        yield entry._replace(level="warning", remedy=cure) if names and of_authority else entry


# What follows from what

SEVERITY: dict[Level, int] = {"bad": 0, "warning": 1, "note": 2, "good": 3}
"""Levels, the gravest first."""

_NO_GRIP = ("closures", "degree", "held", "weak", "missed", "ranks", "grip")
_DEMANDING = (*_NO_GRIP, "open", "motion", "internal")
CAUSED_BY: Mapping[str, tuple[str, ...]] = {
    "degree": ("closures",),
    "held": ("closures", "degree"),
    "missed": ("closures", "degree", "held", "ranks", "grip"),
    "ranks": ("motion",),
    "grip": ("degree", "held", "weak", "ranks", "motion"),
    "law": (*_NO_GRIP, "motion"),
    "lost": (*_NO_GRIP, "law", "motion", "period", "loop", "off"),
    "motion": ("closures", "degree", "held"),
    "approach": ("degree", "held", "weak", "period", "loop", "off"),
    "first input": ("approach", "limits", "elsewhere", "off", *_NO_GRIP),
    "loop": (*_NO_GRIP, "law", "motion", "internal", "off"),
    "limits": _DEMANDING,
    "speed": ("open", "motion", "ranks", "internal"),
    "place": ("open", "internal"),
    "timing": ("open", "internal"),
    "ground": _DEMANDING,
    "gives way": ("limits", "motion"),
}
"""Of each subject those that may bring it about, the deepest first; none of them in a circle."""
CAUSELESS_AS_NOTE = ("degree", "held", "weak", "missed")
"""What brings nothing about where it is no more than a note: the law does without."""


def root_causes(judgements: Iterable[Diagnostic], along: MotionCheck) -> tuple[RootCause, ...]:
    """Return the judgements by their causes, the gravest first."""
    diagnostics = list(dict.fromkeys(judgements))
    parents = [_cause_index(effect, diagnostics, along) for effect in diagnostics]

    def root(i: int) -> int:
        parent = parents[i]
        return i if parent is None else root(parent)

    roots = [root(i) for i in range(len(diagnostics))]
    causes = [
        _group(
            diagnostics[i], [diagnostics[j] for j in range(len(diagnostics)) if roots[j] == i != j]
        )
        for i in dict.fromkeys(roots)
    ]
    return tuple(sorted(causes, key=lambda cause: SEVERITY[cause.level]))


def order_by_cause(
    causes: Sequence[RootCause], diagnostics: Sequence[Diagnostic]
) -> Iterator[Diagnostic]:
    """Yield judgements in the order of their causes, what follows behind each."""
    first = {judgement.text: judgement for judgement in diagnostics}
    for cause in causes:
        yield first[cause.text]
        yield from cause.follows


def _group(cause: Diagnostic, follows: list[Diagnostic]) -> RootCause:
    level = min(
        (cause.level, *(diagnostic.level for diagnostic in follows)), key=SEVERITY.__getitem__
    )
    follows.sort(key=lambda diagnostic: SEVERITY[diagnostic.level])
    return RootCause(level, cause.text, cause.remedy, tuple(follows))


def _cause_index(
    effect: Diagnostic, diagnostics: Sequence[Diagnostic], along: MotionCheck
) -> int | None:
    """Return the place of what an effect follows from; None where it stands alone."""
    # The first subject that coincides is the cause: `CAUSED_BY` has the deepest first.
    for subject in CAUSED_BY.get(effect.subject, ()):
        for i, cause in enumerate(diagnostics):
            if cause.subject == subject and _coincides(cause, effect, along):
                return i
    return None


def _coincides(cause: Diagnostic, effect: Diagnostic, along: MotionCheck) -> bool:
    """Return whether an effect comes when, or after, its cause does."""
    trajectory, ranks, curves, at = along.way, along.ranks, along.curves, effect.time
    if cause.subject in CAUSELESS_AS_NOTE and SEVERITY[cause.level] > SEVERITY[effect.level]:
        return False
    if at is None:
        return True
    if cause.subject == "motion":
        return at >= trajectory.reached - END_WINDOW
    if cause.subject in ("ranks", "grip") and curves is not None and ranks is not None:
        sigma, rank = (
            (curves.servo, ranks.servo) if cause.subject == "ranks" else (curves.grip, ranks.grip)
        )
        return _near_singular(sigma, rank, int(np.abs(curves.t - at).argmin()))
    if cause.subject == "missed":
        return at >= (cause.time or -math.inf)  # from the start on counts as always
    if cause.subject == "off" and effect.subject == "loop":  # off the path the poles are others
        return at <= trajectory.start
    if cause.subject == "internal":  # what runs away grows, and passes limits late, or at once
        late = 0.5 * (trajectory.start + trajectory.reached)
        if along.stability is not None and along.stability.growth[0] > 0.0:
            ran_away = trajectory.start + CERTAIN_GROWTH / along.stability.growth[0]
            late = min(late, ran_away)
        return trajectory.kind == "law" and at >= late
    return True


def _near_singular(sigma: Matrix, rank: RankHistory, k: int) -> bool:
    """Return whether the singular value that fails somewhere is small at a knot, or about it."""
    if not rank.highest:
        return True
    around = sigma[max(k - 1, 0) : k + 2, rank.highest - 1]
    return bool(around.min() < NEAR_SINGULAR)
