"""Run the study behind the page, and store what came of it in `study.json` and `study.csv`.

    python docs/gallery/robustness_study/study.py             # all of it, about 10 minutes
    python docs/gallery/robustness_study/study.py --check     # repeat a few samples
    python docs/gallery/robustness_study/study.py --check 40  # repeat so many

The page is made of what is stored, so that it can be checked without the simulations. A check runs
samples again: each must end as stored, with metrics within a thousandth. The noise is the same on
every machine; the last bits of the simulation are not.
"""

from __future__ import annotations

import argparse
import dataclasses as dc
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from ukctrl import Scenario, Study, SweepAnalysis, metrics, simulate, sweep

HOME = Path(__file__).resolve().parent
SCENARIO = "scara-helix"
CHANGES: dict[str, object] = {
    "timing": {"duration": 2.5, "sample": 0.01, "control": 0.002},
    "integrator": {"method": "RK4", "step": 0.002},
    "effect": [
        {"kind": "noise", "std": 1e-5},
        {"kind": "differentiation", "cutoff": 30.0},
        {"kind": "input_delay", "ticks": 1},
        {"kind": "payload", "frame": "tool", "mass": 0.5, "start": 0.5},
    ],
}
FACTORS = (
    "controller.use=servo-baumgarte,servo-pid",
    "effect.payload.mass=0.01:0.3",
    "believed.mass_scale=0.8:1.2",
    "timing.control=log:0.002:0.05",
    "effect.noise.std=log:1e-6:1e-3",
)
ROWS = 256
"""Rows of each matrix of the Saltelli design."""
COST = "rms_phi.tool"
LIMIT = 0.02
"""What a sample must keep to succeed: the tool's rms error [m]."""
KEPT = ("rms_phi", "rms_phi.tool", "peak_u", "input_travel")
"""Metrics that are stored."""
CLOSE = 1e-3
CHECKED = 6


def base() -> Scenario:
    """Return what all samples share."""
    return Scenario.load(SCENARIO, CHANGES)


def run(jobs: int | None) -> Study:
    """Run every sample."""
    return sweep(base(), FACTORS, design="saltelli", n=ROWS, jobs=jobs)


def store(study: Study) -> None:
    """Keep what the page needs."""
    study.about.write(HOME)
    left_out = [
        name
        for name in study.columns
        if name.partition(".")[0] in metrics.METRICS and name not in KEPT
    ]
    table = study.table.drop(columns=left_out)
    table.to_csv(HOME / "study.csv", index=False, lineterminator="\n", float_format="%.9g")


def load() -> Study:
    """Return the study that is stored."""
    import pandas as pd

    table = pd.read_csv(HOME / "study.csv", keep_default_na=True)
    with tempfile.TemporaryDirectory() as folder:  # a study's folder, without its journal
        shutil.copy(HOME / "study.json", folder)
        (Path(folder) / "journal.jsonl").touch()
        study = Study.load(folder)
    whole = table.fillna({"message": ""})
    columns = {str(name): column.to_numpy() for name, column in whole.items()}
    return dc.replace(study, columns=columns, folder=None)


def insight() -> SweepAnalysis:
    """Return what the stored study shows."""
    return SweepAnalysis.of(load(), cost=COST, require={COST: LIMIT})


def differences(study: Study, samples: list[int]) -> list[str]:
    """Run samples again and return what differs from what is stored."""
    told = []
    stored = study.table.set_index("sample")
    for sample in samples:
        result, row = simulate(study.scenario_of(sample)), stored.loc[sample]
        if result.status != row["status"]:
            told.append(f"sample {sample} was {row['status']}, and is {result.status}.")
        elif result.status == "completed":
            told += [
                f"sample {sample}: {name} was {row[name]}, and is {result.metrics[name]}."
                for name in KEPT
                if not np.isclose(result.metrics[name], row[name], rtol=CLOSE, atol=0.0)
            ]
    return told


def main() -> int:
    """Run and store, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", nargs="?", const=CHECKED, type=int, metavar="N")
    parser.add_argument("--jobs", type=int, help="absent: all processors")
    options = parser.parse_args()
    if options.check is None:
        store(run(options.jobs))
        return 0
    study = load()
    places = np.linspace(0, study.done - 1, options.check).astype(int)
    told = differences(study, [int(study.columns["sample"][place]) for place in places])
    print("\n".join(told) or f"{options.check} samples are as stored")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
