"""Run the comparisons behind the page, and store what came of them in `study.json`.

    python docs/gallery/which_controller/study.py                   # all, about 10 minutes
    python docs/gallery/which_controller/study.py mass weak      # only these
    python docs/gallery/which_controller/study.py --check [NAME...] # compare with what is stored
    python docs/gallery/which_controller/study.py --check --quick   # only those of a second or two

The page is made of what is stored, so that it can be checked without the simulations. A check
runs comparisons again: every status must be as stored, and every metric within a twentieth, of laws
that tremble within a fourth, but for laws that chatter at every tick.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, Case

from ukctrl import Comparison

STORE = Path(__file__).with_suffix(".json")
CLOSE = 0.05
"""Metrics agree within this: with noise and chattering, the last bits of a machine show."""
CHATTERS = 1e5
"""Inputs that travel farther turn round at every tick, by a hundred newton metres: whether and how
such a run ends, the last bits decide, and nothing of it is compared [N m/s]."""
TREMBLES = 1e3
"""Inputs that travel so many times as far as the calmest controller's turn round at every tick too.
Metrics of such a run agree within `NEAR`: a start that is off by 1e-14 m moves them by a tenth."""
NEAR = 0.25
ROUNDING = 1e-7
"""Errors below this are rounding [m, rad and per second], however far apart they are."""
LEFT_OUT = ("mean_tick_us", "energy_drift", "reaction_residual", "reaction_work")
"""Metrics of the machine or of the integration."""
DIGITS = 5
Record = dict[str, Any]


def record(comparison: Comparison) -> Record:
    """Return what the page needs of a comparison."""
    told = comparison.to_dict()
    reference = next(iter(comparison.results))
    entries = {}
    for given in told["controllers"]:
        name = given["name"]
        metrics = {
            key: value
            for key, value in given["metrics"].items()
            if key.split(".")[0] not in LEFT_OUT
        }
        entries[name] = {
            "status": given["status"],
            "message": given["message"],
            "completed": given["completed"],
            "reached": _reached(comparison, name),
            "metrics": metrics,
            "apart": _apart(comparison, reference, name),
        }
        if "statistics" in given:
            kept = ("rms_phi", "rms_phi.tool", "input_travel", "effort")
            entries[name]["statistics"] = {
                key: given["statistics"][key] for key in kept if key in given["statistics"]
            }
    found: Record = {
        "entries": entries,
        "best": told["lowest"],
        "repeats": told["repeats"]["count"],
        "random": told["repeats"]["random"],
    }
    if comparison.tunings:
        found["gains"] = {
            name: {path.removeprefix("controller."): gain for path, gain in run.best.gains.items()}
            for name, run in comparison.tunings.items()
        }
        found["at_border"] = {
            name: list(run.at_border) for name, run in comparison.tunings.items() if run.at_border
        }
    rounded: Record = _rounded(found)
    return rounded


def _reached(comparison: Comparison, name: str) -> float:
    """Return when the first run ended [s]; zero where there is no sample of it."""
    time = comparison.results[name].time
    return float(time[-1]) if len(time) else 0.0


def _apart(comparison: Comparison, one: str, other: str) -> float | None:
    """Return how far a controller's inputs are from those of the first, at most."""
    mine, theirs = comparison.results[one], comparison.results[other]
    if len(mine.time) != len(theirs.time) or not len(mine.time):
        return None
    return float(np.abs(mine["u"] - theirs["u"]).max())


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def load() -> dict[str, Record]:
    """Return what is stored, by the names of the comparisons."""
    stored: dict[str, Record] = json.loads(STORE.read_text(encoding="utf-8"))
    return stored


def differences(name: str, before: Record, now: Record) -> list[str]:
    """Return in words what is no longer as it was."""
    found = []
    for law, old in before["entries"].items():
        within = NEAR if trembles(before, law) else CLOSE
        new = now["entries"].get(law)
        if new is None:
            found.append(f"{name}: '{law}' is stored, and no longer compared.")
            continue
        if chatters(old):
            continue
        if new["status"] != old["status"]:
            found.append(f"{name}: '{law}' was {old['status']}, and is {new['status']}.")
        elif old["status"] == "completed":
            found += [
                f"{name}: {metric} of '{law}' was {was}, and is {new['metrics'].get(metric)}."
                for metric, was in old["metrics"].items()
                if not _close(was, new["metrics"].get(metric), within)
            ]
    found += [
        f"{name}: '{law}' is not stored." for law in now["entries"].keys() - before["entries"]
    ]
    return found


def chatters(entry: Record) -> bool:
    """Return whether the last bits of a machine decide about a run."""
    return travel(entry) > CHATTERS


def trembles(comparison: Record, law: str) -> bool:
    """Return whether the last bits of a machine decide about a tenth of a law's errors."""
    travels = {name: travel(entry) for name, entry in comparison["entries"].items()}
    calmest = min((each for each in travels.values() if each > 0.0), default=0.0)
    return travels[law] > TREMBLES * calmest


def travel(entry: Record) -> float:
    """Return how far the inputs of a run have travelled [N m/s]; zero where nobody knows."""
    return float(entry["metrics"].get("input_travel") or 0.0)


def _close(was: float | None, now: float | None, within: float) -> bool:
    if was is None or now is None:
        return was is now
    return math.isclose(was, now, rel_tol=within, abs_tol=ROUNDING)


def _chosen(names: list[str], quick: bool) -> dict[str, Case]:
    unknown = [name for name in names if name not in CASES]
    if unknown:
        sys.exit(f"no comparison named '{unknown[0]}'. Known: {', '.join(CASES)}.")
    return {
        name: case
        for name, case in CASES.items()
        if (not names or name in names) and (case.quick or not quick)
    }


def main() -> int:
    """Run, and store or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is stored")
    parser.add_argument("--quick", action="store_true", help="only the quick ones")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("name", nargs="*", help="absent: all")
    options = parser.parse_args()
    stored = load() if STORE.is_file() else {}
    stale: list[str] = []
    for name, case in _chosen(options.name, options.quick).items():
        began = time.perf_counter()
        found = record(case.run(options.jobs))
        print(f"{time.perf_counter() - began:6.1f} s  {name}", flush=True)
        if options.check:
            stale += differences(name, stored[name], found) if name in stored else [f"{name}: new."]
        else:
            stored = {**(load() if STORE.is_file() else {}), name: found}
            ordered = {key: stored[key] for key in CASES if key in stored}
            lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in ordered.items())
            STORE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print("\n".join(stale))
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
