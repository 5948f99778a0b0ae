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

printed = papers.pseudoinverses.printed
rerun = papers.pseudoinverses.rerun

STORE = Path(__file__).with_suffix(".json")
ABOVE = 1e-3
"""A threshold well above every tolerance."""
GAINS = ((0.0, 0.0), (10.0, 10.0), (1000.0, 100.0))
THRESHOLDS = (1e-8, 1e-5, 1e-3)


def cases() -> Iterator[rerun.Case]:
    """Yield every case of the page once."""
    seen = set()
    for case in itertools.chain(tables(), thresholds(), integrators()):
        if case not in seen:
            seen.add(case)
            yield case


def tables() -> Iterator[rerun.Case]:
    """Yield Tables 7 to 12, and the same with mild gains and with a larger threshold."""
    tolerances = sorted({table.tolerance for table in printed.RUNS})
    for (alpha, beta), tolerance, method in itertools.product(GAINS, tolerances, rerun.METHODS):
        case = rerun.Case(method=method, tolerance=tolerance, alpha=alpha, beta=beta)
        yield case
        yield dc.replace(case, threshold=ABOVE)
        yield dc.replace(case, integrator="VODE Adams")


def thresholds() -> Iterator[rerun.Case]:
    """Yield starts below and above the ground line, for three thresholds."""
    for (alpha, beta), threshold, start in itertools.product(
        GAINS, THRESHOLDS, (rerun.START, -rerun.START)
    ):
        yield rerun.Case(alpha=alpha, beta=beta, threshold=threshold, start=start)


def integrators() -> Iterator[rerun.Case]:
    """Yield every integrator, with the paper's threshold and a larger one."""
    for (alpha, beta), threshold, name in itertools.product(GAINS, (0.0, ABOVE), rerun.INTEGRATORS):
        yield rerun.Case(alpha=alpha, beta=beta, threshold=threshold, integrator=name)


def load() -> tuple[str, dict[rerun.Case, rerun.Outcome]]:
    """Return where the study was made, and its outcomes."""
    stored = json.loads(STORE.read_text(encoding="utf-8"))
    outcomes = (
        rerun.Outcome(**{**row, "case": rerun.Case(**row["case"])}) for row in stored["runs"]
    )
    return stored["made"], {outcome.case: outcome for outcome in outcomes}


def main() -> None:
    """Run and store."""
    rows = []
    for case in cases():
        outcome = rerun.run(case)
        digits = {"seconds": round(outcome.seconds, 3)}
        rows.append(dc.asdict(outcome) | digits)
        print(f"{outcome.seconds:6.2f} s  {outcome.words:34s} {case}", flush=True)
    made = (
        f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, SciPy {scipy.__version__}"
    )
    lines = ",\n".join(json.dumps(row) for row in rows)
    STORE.write_text(f'{{"made": {json.dumps(made)}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
