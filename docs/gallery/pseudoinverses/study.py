"""Run the whole study behind the page, some minutes, and store what came of it in `study.json`.

    python docs/gallery/pseudoinverses/study.py

How far an unstable run gets depends on the last bit of its arithmetic, and times depend on
the machine. So the page shows one measured study, and `make.py --check` does not repeat it.
"""

from __future__ import annotations

import dataclasses as dc
import itertools
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import numpy
import scipy

from ukctrl import papers

printed = papers.pseudoinverses.printed_tables
rerun = papers.pseudoinverses.linkage_runs

STORE = Path(__file__).with_suffix(".json")
FIELDS = {"ended": "end_status"}
"""Fields of an outcome that the file calls otherwise, by its keys."""
ABOVE = 1e-3
"""A threshold well above every tolerance."""
GAINS = ((0.0, 0.0), (10.0, 10.0), (1000.0, 100.0))
THRESHOLDS = (1e-8, 1e-5, 1e-3)


def cases() -> Iterator[rerun.LinkageCase]:
    """Yield every case of the page once."""
    seen = set()
    for case in itertools.chain(tables(), thresholds(), integrators()):
        if case not in seen:
            seen.add(case)
            yield case


def tables() -> Iterator[rerun.LinkageCase]:
    """Yield Tables 7 to 12, and the same with mild gains and with a larger threshold."""
    tolerances = sorted({table.tolerance for table in printed.PRINTED_RUNS})
    choices = itertools.product(GAINS, tolerances, rerun.PAPER_METHODS)
    for (alpha, beta), tolerance, method in choices:
        case = rerun.LinkageCase(method=method, tolerance=tolerance, alpha=alpha, beta=beta)
        yield case
        yield dc.replace(case, threshold=ABOVE)
        yield dc.replace(case, integrator="VODE Adams")


def thresholds() -> Iterator[rerun.LinkageCase]:
    """Yield starts below and above the ground line, for three thresholds."""
    for (alpha, beta), threshold, start in itertools.product(
        GAINS, THRESHOLDS, (rerun.START, -rerun.START)
    ):
        yield rerun.LinkageCase(alpha=alpha, beta=beta, threshold=threshold, start=start)


def integrators() -> Iterator[rerun.LinkageCase]:
    """Yield every integrator, with the paper's threshold and a larger one."""
    for (alpha, beta), threshold, name in itertools.product(GAINS, (0.0, ABOVE), rerun.INTEGRATORS):
        yield rerun.LinkageCase(alpha=alpha, beta=beta, threshold=threshold, integrator=name)


def load() -> tuple[str, dict[rerun.LinkageCase, rerun.LinkageRun]]:
    """Return where the study was made, and its outcomes."""
    stored = json.loads(STORE.read_text(encoding="utf-8"))
    outcomes = (
        rerun.LinkageRun(
            **{FIELDS.get(key, key): value for key, value in row.items() if key != "case"},
            case=rerun.LinkageCase(**row["case"]),
        )
        for row in stored["runs"]
    )
    return stored["made"], {outcome.case: outcome for outcome in outcomes}


def main() -> None:
    """Run and store."""
    rows = []
    for case in cases():
        outcome = rerun.run_case(case)
        digits = {"seconds": round(outcome.seconds, 3)}
        keys = {field: key for key, field in FIELDS.items()}
        row = dc.asdict(outcome) | digits
        rows.append({keys.get(field, field): value for field, value in row.items()})
        print(f"{outcome.seconds:6.2f} s  {outcome.table_text:34s} {case}", flush=True)
    made = (
        f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, SciPy {scipy.__version__}"
    )
    lines = ",\n".join(json.dumps(row) for row in rows)
    STORE.write_text(f'{{"made": {json.dumps(made)}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
