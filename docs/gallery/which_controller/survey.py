"""Run the study of all laws on all robots in all troubles, and store what came of it.

    python docs/gallery/which_controller/survey.py                        # all of it
    python docs/gallery/which_controller/survey.py --cluster tcp://...    # on a Dask cluster
    python docs/gallery/which_controller/survey.py --robot scara          # one robot
    python docs/gallery/which_controller/survey.py --law servo-pid        # one law
    python docs/gallery/which_controller/survey.py --check 20             # repeat so many runs
    python docs/gallery/which_controller/survey.py --time                 # how long the whole takes

Two sweeps for each robot in each trouble: one on the plants that gains are chosen on, one on those
that they are judged on. They are kept in a folder, and the same command goes on where it was ended.
What the page needs is stored beside this script: one line a law and bandwidth in `survey.csv`, and
in `survey.json` how many seconds of a processor each robot takes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from survey_store import METRICS, PHASES, STORE, Key, Setting, load, store
from trials import JUDGING, PERIOD, ROBOTS, TROUBLES, Table, card_of

from ukctrl import (
    ErrorSpec,
    Factor,
    Levels,
    Loop,
    Study,
    UkctrlError,
    cluster,
    designed,
    simulate,
    sweep,
)

HOME = Path(__file__).resolve().parent
ABOUT = HOME / "survey.json"
WORK = Path("out") / "which-controller"
CLOSE = 0.02
"""Runs agree with those stored within this, unless they tremble."""
TREMBLES = 1e4
"""Inputs that travel so far turn round at every tick, and the last bits decide [N m/s]."""
LONGEST = 120.0
"""How long a run may take [s]."""
EASY = next(iter(TROUBLES))
"""No trouble but noise."""
TIMED, HOLDS = "an untold payload", 2
"""Trouble by which the whole is timed, and under how many holds gains are designed."""


@contextlib.contextmanager
def place(address: str | None) -> Iterator[Mapping[str, Any]]:
    """Yield where runs are made, as `sweep` takes it."""
    if address is None:
        yield {"jobs": None, "isolated": True}  # processes: half of such a run is Python
        return
    with cluster(address) as there:
        yield {"jobs": None, "executor": there.executor, "room": there.room}


def designed_for(
    robot: str, period: float, laws: Sequence[str], work: Path = WORK
) -> dict[tuple[str, float], Table]:
    """Return the card of every law at every bandwidth, without those that are refused.

    All are designed where the robot is as it is believed to be, on the path that gains are chosen
    on, under one hold; and are the same in every trouble.
    """
    return {
        (law, bandwidth): card
        for law in laws
        for bandwidth, card in _designs_of(law, robot, period, work)
    }


def _designs_of(law: str, robot: str, period: float, work: Path) -> list[tuple[float, Table]]:
    kept = work / f"designs-{robot}-{1e3 * period:g}ms-{law}.json"
    if kept.is_file():
        return [(w, card) for w, card in json.loads(kept.read_text(encoding="utf-8"))]
    base = ROBOTS[robot].base(EASY, judging=False).replace({"timing.control": period})
    given = base.replace({"controller": card_of(law, robot)})
    found = []
    for bandwidth in ROBOTS[robot].bandwidths:
        try:
            gains = designed(given, ErrorSpec(bandwidth=bandwidth)).gains
            Loop(given.replace(gains))
        except (UkctrlError, ArithmeticError):
            continue
        found.append((bandwidth, _card(law, robot, gains)))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def _card(law: str, robot: str, gains: Mapping[str, Any]) -> Table:
    """Return a controller as a scenario has it: a card, and what is changed of it."""
    card = card_of(law, robot)
    for path, gain in gains.items():
        *tables, name = path.split(".")[1:]
        inner = card
        for each in tables:
            inner = inner.setdefault(each, {})
        inner[name] = list(gain) if isinstance(gain, tuple) else gain
    return card


def run(
    robot: str,
    trouble: str,
    phase: str,
    laws: Sequence[str],
    where: Mapping[str, Any],
    work: Path = WORK,
) -> Study:
    """Run one sweep, or what is left of it."""
    base = ROBOTS[robot].base(trouble, judging=phase == "judging")
    assert base.timing.control is not None  # all are held
    cards = designed_for(robot, base.timing.control, laws, work)
    factors = [
        Factor("controller", Levels(tuple(cards.values()))),
        Factor("seed", Levels(PHASES[phase])),
    ]
    some = () if tuple(laws) == tuple(ROBOTS[robot].laws) else laws
    name = "-".join([robot, trouble, phase, *some]).replace(" ", "-").replace("%", "percent")
    return sweep(base, factors, folder=work / name, resume=True, timeout=LONGEST, **where)


def settings(
    robot: str, trouble: str, laws: Sequence[str], studies: Mapping[str, Study]
) -> dict[Key, Setting]:
    """Return what came of the two sweeps of a robot in a trouble."""
    period = ROBOTS[robot].base(trouble, judging=False).timing.control
    assert period is not None
    cards = designed_for(robot, period, laws)
    names = {json.dumps(card, sort_keys=True): key for key, card in cards.items()}
    found: dict[Key, dict[str, np.ndarray]] = {}
    begun = set()
    for phase, study in studies.items():
        table = study.table.set_index("sample")
        seeds = {seed: place for place, seed in enumerate(PHASES[phase])}
        for sample, row in table.iterrows():
            values = study.about.plan.values(int(sample))
            key = (robot, trouble, *names[json.dumps(values["controller"], sort_keys=True)])
            both = found.setdefault(
                key, {name: np.full((len(METRICS), len(of)), np.nan) for name, of in PHASES.items()}
            )
            if row["status"] != "failed":
                begun.add(key)
            if row["status"] == "completed":
                both[phase][:, seeds[values["seed"]]] = [row[name] for name in METRICS]
    every = {
        (robot, trouble, law, w): found.get((robot, trouble, law, w))
        for law in laws
        for w in ROBOTS[robot].bandwidths
    }
    nothing = {name: np.full((len(METRICS), len(of)), np.nan) for name, of in PHASES.items()}
    return {
        key: Setting(**(both or nothing), refused=key not in begun) for key, both in every.items()
    }


def survey(
    robots: Sequence[str], troubles: Sequence[str], only: Sequence[str], address: str | None
) -> None:
    """Run what is asked, and store it as it comes, beside what is stored of other laws."""
    with place(address) as where:
        for robot in robots:
            laws = [law for law in ROBOTS[robot].laws if law in only or not only]
            for trouble in troubles if laws else ():
                since = time.perf_counter()
                studies = {phase: run(robot, trouble, phase, laws, where) for phase in PHASES}
                every = load() if STORE.is_file() else {}
                fresh = settings(robot, trouble, laws, studies)
                stale = {(robot, trouble, law) for law in laws}
                kept = {key: one for key, one in every.items() if key[:3] not in stale}
                store({**kept, **fresh})
                count = sum(study.done for study in studies.values())
                print(
                    f"{time.perf_counter() - since:7.1f} s  {count:5d} runs  {robot}, {trouble}",
                    flush=True,
                )


def timed(robots: Sequence[str]) -> None:
    """Measure how long the whole takes a processor, by one trouble of each robot, and store it."""
    about = json.loads(ABOUT.read_text(encoding="utf-8")) if ABOUT.is_file() else {}
    for robot in robots:
        laws = ROBOTS[robot].laws
        with tempfile.TemporaryDirectory() as folder, place(None) as where:
            began = _spent()
            designed_for(robot, PERIOD, laws, Path(folder))
            ready = _spent()
            for phase in PHASES:
                run(robot, TIMED, phase, laws, where, Path(folder))
            done = _spent()
        about[robot] = round(HOLDS * (ready - began) + len(TROUBLES) * (done - ready))
        print(f"{about[robot]:7d} s  {robot}", flush=True)
        ABOUT.write_text(f"{json.dumps(about, indent=1)}\n", encoding="utf-8")


def _spent() -> float:
    """Return the processor time of this process and of those that have ended, beside which others
    may work [s].
    """
    return sum(os.times()[:4])


def differences(count: int) -> list[str]:
    """Run some judged runs again and return what differs from what is stored."""
    told = []
    usable = [(key, one) for key, one in load().items() if not one.refused]
    for place_ in np.linspace(0, len(usable) - 1, count).astype(int):
        (robot, trouble, law, bandwidth), one = usable[place_]
        was, travelled = one.judging[:, 0]
        if travelled > TREMBLES:
            continue
        base = ROBOTS[robot].base(trouble, judging=True)
        plain = ROBOTS[robot].base(EASY, judging=False)
        given = plain.replace(
            {"controller": card_of(law, robot), "timing.control": base.timing.control}
        )
        card = _card(law, robot, designed(given, ErrorSpec(bandwidth=bandwidth)).gains)
        result = simulate(base.replace({"controller": card, "seed": JUDGING[0]}))
        what = f"{law} at {bandwidth:g} rad/s, {robot}, {trouble}"
        if (result.status == "completed") is math.isnan(was):
            told.append(f"{what}: rms_phi was {was}, and the run is {result.status}.")
        elif not math.isnan(was) and not math.isclose(
            result.metrics["rms_phi"], was, rel_tol=CLOSE
        ):
            told.append(f"{what}: rms_phi was {was}, and is {result.metrics['rms_phi']:.5g}.")
    return told


def main() -> int:
    """Run and store, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robot", action="append", choices=list(ROBOTS), help="absent: all")
    parser.add_argument("--trouble", action="append", choices=list(TROUBLES), help="absent: all")
    parser.add_argument("--law", action="append", metavar="NAME", help="absent: all")
    parser.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler")
    parser.add_argument("--time", action="store_true", help="measure how long the whole takes")
    parser.add_argument("--check", type=int, metavar="N", help="repeat so many runs")
    options = parser.parse_args()
    if options.check is not None:
        told = differences(options.check)
        print("\n".join(told) or f"{options.check} runs are as stored")
        return int(bool(told))
    if options.time:
        timed(options.robot or list(ROBOTS))
        return 0
    robots, troubles = options.robot or list(ROBOTS), options.trouble or list(TROUBLES)
    survey(robots, troubles, options.law or (), options.cluster)
    return 0


if __name__ == "__main__":
    sys.exit(main())
