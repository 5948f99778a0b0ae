"""A study: many runs of one scenario, with some of its values varied, as a table and a folder."""

from __future__ import annotations

import dataclasses as dc
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath, catalog
from ukctrl.core.notebook_repr import NotebookRepr
from ukctrl.simulation.provenance import software_versions
from ukctrl.simulation.result.atomic_files import (
    output_folder,
    to_plain_data,
    toml_text,
    write_atomically,
)
from ukctrl.simulation.result.column_files import Columns, data_frame
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.environment_fingerprint import scenario_file_digests, without_catalogue
from ukctrl.studies.journal import require_regular_file
from ukctrl.studies.sweep.factor import Factor
from ukctrl.studies.sweep.point_scenarios import PointScenarios
from ukctrl.studies.sweep.sample_record import read_samples
from ukctrl.studies.sweep.sampling_plan import Design, SamplingPlan
from ukctrl.studies.sweep.study_table import rows_of, table_of, write_tables

if TYPE_CHECKING:
    import pandas as pd

FORMAT_VERSION = 1
"""Version of the folder's layout."""
DESCRIPTION_FILE, JOURNAL_FILE = "study.json", "journal.jsonl"
RESULTS_FOLDER = "results"
"""Folder of the results that are kept whole, one below it for each sample."""


@final
@dc.dataclass(frozen=True, kw_only=True)
class StudyDescription:
    """What a study is of, before any of it has run."""

    scenario: Mapping[str, Any]
    """The base scenario as the table that its file would hold."""
    plan: SamplingPlan
    """Its samples."""
    versions: Mapping[str, str]
    """Versions of what computes it; other ones may give other last bits."""
    base_file: Path | None = None
    """File that names among the values are relative to; None: there are none but of the catalogue.
    """

    files: Mapping[str, str] | None = None
    """Files that the scenario names, each with a digest; None in a study of an earlier version."""

    @staticmethod
    def of(
        scenario: Scenario, plan: SamplingPlan, base_file: AnyPath | None = None
    ) -> StudyDescription:
        """Describe a study that this version computes."""
        table = to_plain_data(scenario.to_table(), "scenario")
        named = any(factor.spread.column_type() == "text" for factor in plan.factors)
        base_path = Path(base_file).resolve() if base_file is not None and named else None
        if base_path is not None and base_path.is_relative_to(catalog.root()):
            base_path = None
        return StudyDescription(
            scenario=table,
            plan=plan,
            versions=software_versions()["versions"],
            base_file=base_path,
            files=scenario_file_digests(table),
        )

    @property
    def input_file_digests(self) -> dict[str, str]:
        """The files with their digests, without those of the catalogue."""
        return without_catalogue(self.files or {})

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "format": FORMAT_VERSION,
            "scenario": self.scenario,
            **self.plan.to_dict(),
            "versions": dict(self.versions),
            **({} if self.base_file is None else {"beside": str(self.base_file)}),
            **({} if self.files is None else {"files": dict(self.files)}),
        }

    def write(self, folder: Path) -> None:
        """Write `study.json`."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, default=str)
        write_atomically(folder / DESCRIPTION_FILE, f"{text}\n".encode())

    @staticmethod
    def read(folder: Path) -> StudyDescription:
        """Read a `study.json` back.

        Raises:
            InputError: There is none, or it cannot be read.
        """
        path = folder / DESCRIPTION_FILE
        require_regular_file(path)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(
                f"no study at '{folder}'; it must be a folder with a {DESCRIPTION_FILE}."
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"'{path}' is no readable study: {error}.") from error
        if data.get("format") != FORMAT_VERSION:
            raise InputError(
                f"'{path}' must have format {FORMAT_VERSION}; got {data.get('format')}. Read it "
                "with the version of ukctrl that wrote it."
            )
        try:
            plan, base_file = SamplingPlan.from_dict(data), data.get("beside")
            return StudyDescription(
                scenario=data["scenario"],
                plan=plan,
                versions=data["versions"],
                base_file=None if base_file is None else Path(str(base_file)),
                files=data.get("files"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"'{path}' is no readable study: {error!r}.") from error


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Study(NotebookRepr):
    """Many runs of one scenario, finished or not.

    Make one with [`sweep`][ukctrl.sweep] or read one back with
    [`Study.load`][ukctrl.Study.load].
    """

    repr_module: ClassVar[str] = "ukctrl.studies.sweep_analysis.study_page"

    about: StudyDescription
    """What it is of."""
    columns: Columns
    """Arrays with an entry for each finished sample, in order of their numbers: `sample`; one a
    factor, under its path; `seed`, `status`, `message`, `reached` [s], `verdict`; then the metrics
    by name, NaN where a run has none."""
    folder: Path | None = None
    """Where it was read from or written to."""

    def __repr__(self) -> str:
        varied = ", ".join(factor.path for factor in self.factors) or "the seed"
        return f"<Study of {varied}: {self.done} of {self.about.plan.count} samples>"

    @functools.cached_property
    def table(self) -> pd.DataFrame:
        """The columns as a table of pandas, one row a finished sample.

        Raises:
            InputError: pandas is not installed.
        """
        return data_frame("Study.table", self.columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return `table`: one row a finished sample."""
        return self.table

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The base scenario as the table that its file would hold."""
        return self.about.scenario

    @property
    def factors(self) -> tuple[Factor, ...]:
        """What is varied."""
        return self.about.plan.factors

    @property
    def design(self) -> Design:
        """How the points are chosen."""
        return self.about.plan.design

    @property
    def n(self) -> int:
        """Points of the design; for ``saltelli`` the rows of one matrix."""
        return self.about.plan.n

    @property
    def repeats(self) -> int:
        """Runs of each point."""
        return self.about.plan.repeats

    @property
    def seed(self) -> int:
        """What the points and the seeds of the samples are drawn from."""
        return self.about.plan.seed

    @property
    def done(self) -> int:
        """How many samples are there."""
        return len(self.columns["sample"])

    @property
    def finished(self) -> bool:
        """Whether all samples are there."""
        return self.done == self.about.plan.count

    def scenario_of(self, sample: int, *, trust: bool = False) -> Scenario:
        """Return the scenario of a sample, which run again gives the same numbers.

        Args:
            sample: Its number.
            trust: Whether Python code that the scenario names may run.

        Raises:
            InputError: There is no such sample, or its values do not go together.
        """
        count = self.about.plan.count
        if not 0 <= sample < count:
            raise InputError(f"sample must be from 0 to {count - 1}; got {sample}.")
        return self.points(trust=trust).scenario(self.about.plan.scenario_changes(sample))

    def points(self, *, trust: bool = False) -> PointScenarios:
        """Return its scenarios, by the values of a sample.

        Args:
            trust: Whether Python code that the scenario names may run.
        """
        base = Scenario.from_toml(toml_text(self.scenario), trust=trust)
        return PointScenarios(base, self.about.base_file, trust)

    @staticmethod
    @explain_argument_errors
    def load(folder: AnyPath) -> Study:
        """Read a study back from its folder, finished or not.

        Raises:
            InputError: There is no study, or it cannot be read.
        """
        folder = Path(folder)
        about = StudyDescription.read(folder)
        try:
            rows = read_samples(folder / JOURNAL_FILE, about.plan.count)
        except OSError as error:
            raise InputError(f"cannot read the study in '{folder}': {error}.") from error
        columns = table_of(about.plan.factors, rows.values(), len(rows))
        return Study(about=about, columns=columns, folder=folder)

    @explain_argument_errors
    def save(self, folder: AnyPath) -> Path:
        """Write `study.json`, `journal.jsonl`, `study.csv`, and with PyArrow `study.parquet`.

        Returns:
            The folder, which is made when it does not exist.

        Raises:
            InputError: The folder cannot be written to.
        """
        folder = Path(folder)
        with output_folder("the study", folder):
            self.about.write(folder)
            plan, rows = self.about.plan, rows_of(self.factors, self.columns)
            whole = (row._replace(values=plan.values(row.sample)) for row in rows)
            lines = "".join(f"{row.to_line()}\n" for row in whole)
            write_atomically(folder / JOURNAL_FILE, lines.encode())
            write_tables(folder, self.columns)
        return folder
