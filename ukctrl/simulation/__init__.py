"""What happens in one run? A scenario, its effects, the closed loop, result and verdicts.

In order:

1. ``result``: what a run leaves behind. ``effects``: what stands between law and robot.
2. ``scenario``: one experiment, as its file has it. ``loop``: law and robot at a state.
3. ``simulate``: one run. ``verdicts``: its result judged in words.
4. ``handover``: from a designed controller to one's own control loop.

The way of a scenario from ``ukctrl run`` to its page, in twelve files:

    cli/run.py                      options to a scenario; run it, save it, write the page
    simulation/scenario/scenario.py the schema of the file, and what it must not say together
    simulation/scenario/cards.py    the controller's card, --set, user code: one whole table
    simulation/simulate.py          from sample to sample, tick to tick, until the end or a stop
    simulation/loop/closed_loop.py  robots, start and law made ready; the loop's right-hand side
    control/servo.py                the law: rows to a demand (feedback), demand to an input
    mechanics/dynamics.py           the robot at a state: a = a_free + G u, passive rows kept
    mechanics/integrate/adaptive.py from one event to the next, output times in between
    simulation/loop/recorder.py     what is kept of each sample
    simulation/result/result.py     arrays, metrics, status, provenance; saved and loaded
    simulation/verdicts/__init__.py the result judged in sentences
    reports/run_page.py             figures, tables and verdicts on one page

The rest is parts (constraints, feedbacks, allocations, effects), each asked through its base class,
and tools that these files call by name.
"""
