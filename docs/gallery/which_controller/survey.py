"""Run the study of all laws on all robots in all troubles, and store what came of it.

    python docs/gallery/which_controller/survey.py                        # all of it
    python docs/gallery/which_controller/survey.py --cluster tcp://...    # on a Dask cluster
    python docs/gallery/which_controller/survey.py --robot scara          # one robot
    python docs/gallery/which_controller/survey.py --check 20             # repeat so many runs
    python docs/gallery/which_controller/survey.py --time                 # how long the whole takes

Two sweeps for each robot in each trouble: one on the plants that gains are chosen on, one on those
that they are judged on. They are kept in a folder, and the same command goes on where it was ended.
What the page needs is stored beside this script: one line a law and bandwidth in `survey.csv`, and
in `survey.json` how long the whole takes on a machine with nothing else to do.
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
from typing import Any, NamedTuple

import numpy as np
from trials import JUDGING, PERIOD, ROBOTS, TRAINING, TROUBLES, Table, card_of

from ukctrl import (
    Factor,
    Levels,
    Loop,
    Study,
    Terms,
    UkctrlError,
    cluster,
    designed,
    simulate,
    sweep,
)

HOME = Path(__file__).resolve().parent
STORE = HOME / "survey.csv"
ABOUT = HOME / "survey.json"
WORK = Path("out") / "which-controller"
METRICS = ("rms_phi", "input_travel")
"""What is small where a law is good, and what that costs."""
PHASES = {"choosing": TRAINING, "judging": JUDGING}
DIGITS = 5
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
Key = tuple[str, str, str, float]
"""Robot, trouble, law, bandwidth."""


class Setting(NamedTuple):
    """One law at one bandwidth on one robot in one trouble: both metrics of every plant."""

    choosing: np.ndarray
    """Shape ``(2, plants)``; NaN where a run did not complete."""
    judging: np.ndarray
    refused: bool
    """Whether the law does not begin at this bandwidth."""


@contextlib.contextmanager
def place(address: str | None) -> Iterator[Mapping[str, Any]]:
    """Yield where runs are made, as `sweep` takes it."""
    if address is None:
        yield {"jobs": None}
        return
    with cluster(address) as there:
        yield {"jobs": None, "executor": there.executor, "room": there.room}


def designed_for(robot: str, period: float, work: Path = WORK) -> dict[tuple[str, float], Table]:
    """Return the card of every law at every bandwidth, without those that are refused.

    All are designed where the robot is as it is believed to be, on the path that gains are chosen
    on, under one hold; and are the same in every trouble.
    """
    kept = work / f"designs-{robot}-{1e3 * period:g}ms.json"
    if kept.is_file():
        return {(law, w): card for law, w, card in json.loads(kept.read_text(encoding="utf-8"))}
    base = ROBOTS[robot].base(EASY, judging=False).replace({"timing.control": period})
    found: dict[tuple[str, float], Table] = {}
    for law in ROBOTS[robot].laws:
        given = base.replace({"controller": card_of(law)})
        for bandwidth in ROBOTS[robot].bandwidths:
            try:
                gains = designed(given, Terms(bandwidth=bandwidth)).gains
                Loop(given.replace(gains))
            except (UkctrlError, ArithmeticError):
                continue
            found[law, bandwidth] = _card(law, gains)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([[*key, card] for key, card in found.items()]), encoding="utf-8")
    return found


def _card(law: str, gains: Mapping[str, Any]) -> Table:
    """Return a controller as a scenario has it: a card, and what is changed of it."""
    card = card_of(law)
    for path, gain in gains.items():
        *tables, name = path.split(".")[1:]
        inner = card
        for each in tables:
            inner = inner.setdefault(each, {})
        inner[name] = list(gain) if isinstance(gain, tuple) else gain
    return card


def run(robot: str, trouble: str, phase: str, where: Mapping[str, Any], work: Path = WORK) -> Study:
    """Run one sweep, or what is left of it."""
    base = ROBOTS[robot].base(trouble, judging=phase == "judging")
    assert base.timing.control is not None  # all are held
    cards = designed_for(robot, base.timing.control, work)
    factors = [
        Factor("controller", Levels(tuple(cards.values()))),
        Factor("seed", Levels(PHASES[phase])),
    ]
    name = f"{robot}-{trouble}-{phase}".replace(" ", "-").replace("%", "percent")
    return sweep(base, factors, folder=work / name, resume=True, timeout=LONGEST, **where)


def settings(robot: str, trouble: str, studies: Mapping[str, Study]) -> dict[Key, Setting]:
    """Return what came of the two sweeps of a robot in a trouble."""
    period = ROBOTS[robot].base(trouble, judging=False).timing.control
    assert period is not None
    cards = designed_for(robot, period)
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
        for law in ROBOTS[robot].laws
        for w in ROBOTS[robot].bandwidths
    }
    nothing = {name: np.full((len(METRICS), len(of)), np.nan) for name, of in PHASES.items()}
    return {
        key: Setting(**(both or nothing), refused=key not in begun) for key, both in every.items()
    }


def load() -> dict[Key, Setting]:
    """Return what is stored."""
    stored = {}
    head, *lines = STORE.read_text(encoding="utf-8").splitlines()
    names = head.split(",")
    for line in lines:
        cells = dict(zip(names, line.split(","), strict=True))
        key = (cells["robot"], cells["trouble"], cells["law"], float(cells["bandwidth"]))
        both = {
            phase: np.array(
                [[_read(cells[f"{metric}.{seed}"]) for seed in seeds] for metric in METRICS]
            )
            for phase, seeds in PHASES.items()
        }
        stored[key] = Setting(**both, refused=cells["refused"] == "1")
    return stored


def _read(cell: str) -> float:
    return float(cell) if cell else math.nan


def store(every: Mapping[Key, Setting]) -> None:
    """Keep what the page needs."""
    head = ["robot", "trouble", "law", "bandwidth", "refused"]
    head += [
        f"{metric}.{seed}" for seeds in PHASES.values() for metric in METRICS for seed in seeds
    ]
    lines = [",".join(head)]
    for key in sorted(every, key=_order):
        setting = every[key]
        values = [*setting.choosing.ravel(), *setting.judging.ravel()]
        cells = [*map(str, key), str(int(setting.refused))]
        cells += ["" if math.isnan(value) else f"{value:.{DIGITS}g}" for value in values]
        lines.append(",".join(cells))
    STORE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _order(key: Key) -> tuple[int, int, int, float]:
    robot, trouble, law, bandwidth = key
    return (
        list(ROBOTS).index(robot),
        list(TROUBLES).index(trouble),
        ROBOTS[robot].laws.index(law),
        bandwidth,
    )


def survey(robots: Sequence[str], troubles: Sequence[str], address: str | None) -> None:
    """Run what is asked, and store it as it comes."""
    with place(address) as where:
        for robot in robots:
            for trouble in troubles:
                since = time.perf_counter()
                studies = {phase: run(robot, trouble, phase, where) for phase in PHASES}
                every = load() if STORE.is_file() else {}
                fresh = settings(robot, trouble, studies)
                kept = {key: one for key, one in every.items() if key[:2] != (robot, trouble)}
                store({**kept, **fresh})
                count = sum(len(study.table) for study in studies.values())
                print(
                    f"{time.perf_counter() - since:7.1f} s  {count:5d} runs  {robot}, {trouble}",
                    flush=True,
                )


def timed(robots: Sequence[str]) -> None:
    """Measure how long the whole takes here, by one trouble of each robot, and store it."""
    about = json.loads(ABOUT.read_text(encoding="utf-8")) if ABOUT.is_file() else {}
    for robot in robots:
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            designed_for(robot, PERIOD, Path(folder))
            ready = time.perf_counter()
            for phase in PHASES:
                run(robot, TIMED, phase, {"jobs": None}, Path(folder))
            done = time.perf_counter()
        whole = HOLDS * (ready - began) + len(TROUBLES) * (done - ready)
        about[robot] = {"seconds": round(whole), "processors": os.cpu_count()}
        print(f"{whole:7.0f} s  {robot}", flush=True)
        ABOUT.write_text(f"{json.dumps(about, indent=1)}\n", encoding="utf-8")


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
        given = plain.replace({"controller": card_of(law), "timing.control": base.timing.control})
        card = _card(law, designed(given, Terms(bandwidth=bandwidth)).gains)
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
    survey(options.robot or list(ROBOTS), options.trouble or list(TROUBLES), options.cluster)
    return 0


if __name__ == "__main__":
    sys.exit(main())
