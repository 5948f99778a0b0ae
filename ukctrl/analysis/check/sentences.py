"""The sentences of `check`: what each diagnostic says, and what helps.

A diagnostic is a subject, a level, numbers and a remedy. `SENTENCES` has the words of every subject
and case, `diagnose` puts the numbers in.
"""

from __future__ import annotations

from collections.abc import Mapping

from ukctrl.analysis.check.check_result import Diagnostic
from ukctrl.core.verdict import Level

SLOW_DOWN = "Slow the motion down"
NOT_TRIED = " Whether a slower motion is enough was not tried."
BOUNDED = 'controller.allocation.kind = "bounded"'
LIMIT_REMEDY = f"{SLOW_DOWN}, or let the law keep within the limits: {BOUNDED}."
GROUND_REMEDY = (
    f"{SLOW_DOWN}, or let the law keep the forces that the ground can give, and the task give way "
    'where it must: [[keep]] kind = "contact_forces", with a least force.'
)
SINGULAR_REMEDY = (
    "Move the path or the start, or let the law give way there: controller.allocation.kind = "
    '"damped".'
)
LONGER_RUN = "Let timing.duration be longer."
MORE_SENSORS = "Measure more: sensing.joints, sensing.speeds, sensing.camera or sensing.imu."
BEYOND = (
    "{element} '{use.name}' {does} {use.value:.4g} {use.unit} at t = {use.t:.4g} s, "
    "{use.beyond:.3g} beyond its limit of {use.limit:.4g}, first at t = {use.since:.4g} s"
)

SENTENCES: Mapping[str, str] = {
    # The start
    "start": "{text}",
    "start: above": ("contacts {names} start above the ground, by up to {gap}; the check assumes "
        "that they are closed."),
    "start: share": ("the motion does not determine how passive rows {names} share their load; "
        "their reactions are those of least norm."),
    "start: dependent": "servo rows {names} depend on the others; they are kept if consistent.",
    "start: integral": ("velocity row '{row.name}' says that {row.integral} stays constant; "
        "written as phi it would hold a value."),
    "start: falls": ("{held} of {mobility} freedoms are held; the other {count} {verb} freely "
        "under gravity: {advice}, or more rows."),
    "closures": ("the start breaks the passive constraints, most in row '{row}': {level} = "
        "{error:.3g}. Correct it, or set start.solve = true."),
    "closures: above": ("contacts {names} start {where}: open, they leave the motors without grip "
        "of all servo rows."),
    "closures: below": ("contacts {names} start below the ground, by up to {gap}. Raise the start, "
        "or set start.solve = true."),
    "off": ("the start is off the constraints, most on row '{row.name}': {phi}beta = "
        "{row.beta:.3g} {row.unit}/s. Feedback must bring it back, or set start.solve = true."),
    "off: open": ("the start is off the constraints, most on row '{row.name}': {phi}beta = "
        "{row.beta:.3g} {row.unit}/s; the law feeds no error of {names} back, and stays off."),
    "turned": ("the start has '{name}' at {value:g} rad, {turns:.3g} turns; if that is meant in "
        'degrees, write "{value:g}*deg".'),
    "first input": "input '{name}' starts at {u:.4g}, {side} its limit {limit:.4g}.",
    "degree": "no motor accelerates {rows}: {why}{instead}",
    "degree: together": "{whole.sentence}{instead}",
    "held": ("the motors hold {grip.rank} of {servo.rank} independent servo rows at {instant}: the "
        "rest has a higher relative degree, or is beyond the actuation."),
    "law": "{text}",
    "law: ground": "{text}",
    # The motion
    "motion": "{stop.text}",
    "motion: gives way": "{stop.text} The law gives way there.",
    "motion: without limits": ("the exact task ends early: {stop.text} It crosses kept limits "
        "before, where the law departs from it: a run shows how far the law comes."),
    "motion: yields": ("blocks {names} contradict those before them somewhere; the law keeps them "
        "as nearly as it can."),
    "lost": "the law does not bring the start back to the rows: {why}",
    "weak": "{text}",
    "unmoved": ("rows {names} are off their path, and nothing on the robot moves them: no freedom "
        "that the passive constraints leave changes them."),
    "ranks: lost": ("the servo rows lose their independence at t = {servo.lowest_at:.4g} s, most "
        "in row '{servo.worst_row}': a singular position, where {lost} of {servo.highest} rows "
        "cannot be moved."),
    "ranks: near": ("the motion comes near a singular position at t = {servo.worst_at:.4g} s: the "
        "smallest singular value falls to {servo.worst:.2g}, most in row '{servo.worst_row}'. "
        "Inputs and rates grow as its inverse."),
    "grip: lost": ("the motors lose their grip of row '{grip.worst_row}' at t = "
        "{grip.lowest_at:.4g} s: they hold {grip.lowest} of {servo.highest} independent rows "
        "there."),
    "grip: near": ("the motors come near losing their grip of row '{grip.worst_row}' at t = "
        "{grip.worst_at:.4g} s: the smallest singular value falls to {grip.worst:.2g}."),
    "mechanism": ("the mechanism passes a singular position at t = {passive.lowest_at:.4g} s, "
        "where {lost} of its constraints becomes dependent, most '{passive.worst_row}'."),
    # Inputs, joints, ground
    "missed": ("the motors cannot make the motion: from t = {missed.t:.4g} s on they miss {share} "
        "of its acceleration, most at '{missed.dof}'."),
    "law: gives up": "at t = {refused.t:.4g} s the law gives up: {refused.text}",
    "elsewhere": ("the smallest input is beyond the limits of {names}, but another input serves "
        "the task within them."),
    "gives way": "the law keeps within the limits, and the task gives way instead.",
    "limits": f"{BEYOND}.",
    "limits: rates": f"{BEYOND}.",
    "speed": f"{BEYOND}.",
    "place": f"{BEYOND}.",
    "approach": f"{BEYOND}, on the way from the start back to the rows.",
    "more": "{count} more {element}s are beyond a limit.",
    "ground: lifts": ("contact '{load.name}' would lift off at t = {load.lifts:.4g} s: the ground "
        "would have to pull with up to {pull:.3g} N (t = {load.t:.4g} s)."),
    "ground: slides": ("contact '{load.name}' needs a coefficient of friction of "
        "{load.friction:.2g} not to slip, and has {load.mu:.2g}: it slides."),
    "ground: slips": ("contact '{load.name}' needs a coefficient of friction of "
        "{load.friction:.2g} not to slip, more than rubber has on dry concrete."),
    "lifts: waits": ("the ground holds {names} until t = {t:.4g} s, and whenever their contacts "
        "are closed: no input moves these rows then; the results for them are for the rest of the "
        "time."),
    "lifts: late": ("contact '{landing.contact}' is used by the law again at t = {landing.t:.4g} "
        "s, where the task puts it {height} above the ground."),
    # Timing
    "timing": ("the motion would keep all limits at {timing.rate:.3g} times its speed ({binding}, "
        "t = {timing.t:.4g} s)."),
    "timing: optimised": "the optimised path ends at t = {optimum.end:.4g} s, after the run.",
    "timing: retimed": "the retimed paths end at t = {timing.clock_ends:.4g} s, after the run.",
    "open": ("the rows leave freedoms open; the retimed paths assume the smallest joint motion. "
        "The law moves differently, and may need more time."),
    "period: grows": ("a control period of {sampling.period:.4g} s{late} is too long for the "
        "gains: the error of row '{sampling.row}' grows from {sampling.longest:.3g} s on. Shorten "
        "timing.control to {sampling.recommended:.2g} s, or lower the gains."),
    "period: slow": ("a control period of {sampling.period:.4g} s{late} is long for the gains: the "
        "error of row '{sampling.row}' decays at {sampling.sampled_decay:.3g} 1/s instead of "
        "{sampling.decay:.3g}; below {sampling.recommended:.2g} s it keeps four fifths of that."),
    "loop: period": ("a control period of {stability.period:.4g} s{late} is too long for the loop: "
        "at t = {stability.worst_at:.4g} s it is {stability.worst_text}."),
    "loop: gains": ("the loop that is held for {stability.period:.4g} s{late} diverges: at t = "
        "{stability.worst_at:.4g} s it is {stability.worst_text}."),
    "loop: doubt": ("a control period of {stability.period:.4g} s{late} is long for the loop: at t "
        "= {stability.worst_at:.4g} s of the exact motion it is {stability.worst_text}; a trial "
        "run of {trial.duration:.4g} s that starts off comes back all the same."),
    "loop: trial": ("a trial run of {trial.duration:.4g} s ends as '{trial.status}': "
        "{trial.message}"),
    "loop: law": ("the law does not hold all of the robot: at t = {stability.worst_at:.4g} s the "
        "loop is {stability.worst_text}."),
    # What the law keeps
    "keep: doubt": "{text}",
    "keep: unknown": "the kept limits cannot be evaluated {where}: {why}",
    "keep: start": ("the start is beyond the limit '{name}' by {gap}: the law returns to the "
        "limit, but does not keep it until then."),
    "keep: start moves": ("the start moves towards the limit '{name}' faster than the decay "
        "allows, at a distance of {gap}: it may cross the limit."),
    "keep: opposed": ("{names} contradict each other at the start, whatever the task asks: no "
        "state keeps both; the limits overlap by {gap}."),
    "keep: conflict": ("from t = {interval.start:.4g} s to {interval.stop:.4g} s no input keeps "
        "all limits, whatever the task asks: {why} t = {interval.worst_at:.4g} "
        "s{interval.binding_text}."),
    "keep: task": ("from t = {interval.start:.4g} s to {interval.stop:.4g} s no input serves the "
        "task and keeps all limits{interval.binding_text}: the task gives way, by up to "
        "{interval.gives_up:.3g} of its accelerations (t = {interval.worst_at:.4g} s)."),
    "keep: unactuated": ("no motor accelerates {names}{more} directly at the start, as behind "
        "springs or at a singularity: no input keeps this limit there, and it gives way."),
    "keep: inside": "the exact task stays within '{name}', with a slack of {gap}.",
    "keep: crossed": ("the exact task goes beyond '{name}' by {gap} at t = {t:.4g} s, first at t = "
        "{since:.4g} s: in a trial run of {trial.duration:.4g} s the limit is kept, and the task "
        "gives way."),
    "keep: untried": ("the exact task goes beyond '{name}' by {gap} at t = {t:.4g} s, first at t = "
        "{since:.4g} s: the task is to give way; whether the limit is kept was not tried."),
    "keep: overrun": ("the exact task goes beyond '{name}' by {gap} at t = {t:.4g} s, first at t = "
        "{since:.4g} s, and a trial run of {trial.duration:.4g} s crosses it too, by {depth} at "
        "t = {overrun.t:.4g} s: the motors do not stop in time what comes near it."),
    # Observers, internal dynamics
    "observer: blind": ("the observer does not see {names} at t = {look.t:.4g} s: no measurement "
        "depends on it, and its estimate comes from the model alone."),
    "observer: weak": ("part of the state is hardly observable at t = {look.t:.4g} s: the smallest "
        "singular value of the observability test of the modes falls to {look.sigma:.2g}."),
    "observer": ("the whole state is observable at all {count} times that were checked: the "
        "smallest singular value of the observability test of the modes is {look.sigma:.2g}."),
    "internal": "{text}",
    "internal: contacts": "the internal dynamics changes with the contacts, and is not analysed.",
    "internal: unknown": "the internal dynamics is not known: {text}",
}  # fmt: skip
"""By subject, or subject and case: what is said."""
TRUE_ROBOT_REMEDY = (
    "The law keeps it on the robot that it believes in, and the true one may come nearer: let the "
    "limit's margin cover that."
)
REMEDIES: Mapping[str, str] = {
    "off: open": "Set start.solve = true, or give the law a feedback.",
    "closures: above": "Set start.solve = true, which puts them on the ground.",
    "law: ground": ("Let the law leave out what the ground holds: "
        'controller.allocation.on_infeasible = "least_squares", or controller.allocation.kind = '
        '"prioritized".'),
    "motion": SINGULAR_REMEDY,
    "ranks: lost": SINGULAR_REMEDY,
    "ranks: near": SINGULAR_REMEDY,
    "held": "Let the task ask for no more rows than motors hold together, or add a motor.",
    "missed": "Let the task ask only for what motors move, or add a motor.",
    "elsewhere": f"Let the law find it: {BOUNDED}.",
    "limits": LIMIT_REMEDY,
    "limits: rates": f"{SLOW_DOWN}.",
    "speed": f"{SLOW_DOWN}.",
    "place": "Move the path, or start in another position from which it is reached.",
    "ground: lifts": GROUND_REMEDY,
    "ground: slides": GROUND_REMEDY,
    "lifts: late": "Let its path come down by then, to a millimetre below the ground.",
    "timing": ('Retime the paths: kind = "retimed", span = [{timing.span[0]}, '
        "{timing.span[1]}], of = the path of today. They then take {timing.retimed:.4g} s."),
    "timing: optimised": LONGER_RUN,
    "timing: retimed": LONGER_RUN,
    "open": ("Hold the posture by a row that is constant, or follow the joints, such as with "
        "controller.use = 'computed-torque'."),
    "loop: period": ("Shorten timing.control to {stability.recommended:.2g} s, with which "
        "the poles were tried and are stable, or lower the gains."),
    "loop: gains": ("Lower the gains, joint by joint where the inertias differ, as ukctrl analyze "
        "--bandwidth gives them for most laws: no shorter control period that was tried makes it "
        "stable."),
    "keep: doubt": "Give a smaller deceleration or speed.",
    "keep: unknown": "Keep what has a value wherever the robot may be.",
    "keep: start": "Start inside, or move the limit.",
    "keep: start moves": "Start slower, or give a shorter decay.",
    "keep: opposed": "Move one of them; or say by order which gives way first.",
    "keep: conflict": "Move a limit, or the path; or say by order which gives way first.",
    "keep: task": "Slow the path down there, keep further away, or give a shorter decay.",
    "keep: unactuated": "Keep what the motors move at once, such as the joints before the springs.",
    "keep: crossed": TRUE_ROBOT_REMEDY,
    "keep: untried": TRUE_ROBOT_REMEDY,
    "keep: overrun": "Give a longer decay, which brakes earlier; or a margin, or a slower task.",
    "observer: blind": MORE_SENSORS,
    "observer: weak": MORE_SENSORS,
}  # fmt: skip
"""What helps, where something does; choices are parted by ``, or``."""


def applicable_remedy(remedy: str, *, gives_way: bool, bounds: bool, slower: bool | None) -> str:
    """Return the choices of a remedy that can be made.

    Args:
        remedy: One of `REMEDIES`.
        gives_way: Whether the law has an allocation, which may be another.
        bounds: Whether one within the limits would be news to it.
        slower: Whether a slower motion keeps all limits; None where none was tried.
    """
    choices = [
        choice
        for choice in remedy.removesuffix(".").split(", or ")
        if (gives_way or ".allocation." not in choice)
        and (bounds or BOUNDED not in choice)
        and (slower is not False or choice != SLOW_DOWN)
    ]
    text = ", or ".join(choices)
    untried = NOT_TRIED if slower is None and SLOW_DOWN in choices else ""
    return f"{text[0].upper()}{text[1:]}.{untried}" if text else ""


def diagnose(
    case: str,
    level: Level,
    values: Mapping[str, object] | None = None,
    time: float | None = None,
    helps: bool = True,
) -> Diagnostic:
    """Return a diagnostic.

    Args:
        case: Its subject, or subject and case, in `SENTENCES`.
        level: How grave it is.
        values: What the words name.
        time: When it is worst [s]; None where it is said of the whole run.
        helps: Whether to name the remedy.
    """
    remedy = REMEDIES.get(case, "") if helps else ""
    sentence, cure = (words.format_map(values or {}) for words in (SENTENCES[case], remedy))
    return Diagnostic(level, case.partition(":")[0], sentence, time, cure)
