"""Results as files: NetCDF for the arrays, JSON for the summary, TOML for the scenario.

The NetCDF file is written without xarray, which costs a third of a second to import; opened
with xarray it is the same dataset as [`Result.data`][ukctrl.Result.data].
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, ShapeError, UkctrlError
from ukctrl.core.files.toml import parse_toml
from ukctrl.simulation.result.atomic_files import (
    finite_or_none,
    one_line,
    output_folder,
    toml_text,
    utf8_text,
    write_atomically,
)
from ukctrl.simulation.result.column_files import missing_package_error
from ukctrl.simulation.result.hdf5_writer import open_for_writing
from ukctrl.simulation.result.quantities import AXIS_TEXTS, FIELDS, Labels, common_unit
from ukctrl.simulation.result.run_id import (
    check_one_run,
    remove_other_runs,
    run_id_of_result,
    with_run_id,
)
from ukctrl.simulation.result.run_record import RunRecord
from ukctrl.simulation.result.sample_store import SampleStore
from ukctrl.simulation.result.samples import Samples, SignalSeries
from ukctrl.simulation.result.untrusted_hdf5 import (
    numeric_dataset,
    open_untrusted,
    text_attribute,
    text_dataset,
)

if TYPE_CHECKING:
    import xarray as xr

FORMAT = 1
"""Version of the file layout, in the attribute `ukctrl_format`."""


class NetcdfVariable(NamedTuple):
    """One NetCDF variable: float64 numbers or, for names along a dimension, texts."""

    dims: tuple[str, ...]
    values: NDArray[Any]
    attributes: dict[str, str]
    is_coordinate: bool = False


def netcdf_variables(samples: Samples) -> dict[str, NetcdfVariable]:
    """Return everything a result file holds, by name; coordinates come first."""
    labels, table = samples.labels, {}
    table["time"] = NetcdfVariable(
        ("time",), samples.time, {"units": "s", "long_name": "time"}, True
    )
    for name, axis, attribute, meaning, always in AXIS_TEXTS:
        texts = np.array([utf8_text(entry) for entry in getattr(labels, attribute)], dtype=object)
        if not (always or texts.size):
            continue
        table[name] = NetcdfVariable((axis,), texts, {"long_name": meaning}, True)
    limit = {"units": common_unit(labels.actuator_units), "long_name": "largest magnitude of input"}
    table["effort_limit"] = NetcdfVariable(("actuator",), np.array(labels.effort_limit), limit)
    if labels.keep_rows:
        margins, units = np.array(labels.keep_row_margins), common_unit(labels.keep_row_units)
        table["keep_margin"] = NetcdfVariable(
            ("keep_row",), margins, {"units": units, "long_name": "how far from zero it is kept"}
        )
    for name, array in samples.arrays.items():
        field = FIELDS[name]
        attributes = {"units": common_unit(field.units(labels)), "long_name": field.long_name}
        table[name] = NetcdfVariable(("time", *field.dims), array, attributes)
    for name, signal in samples.signals.items():
        dims: tuple[str, ...] = ("time",)
        if signal.components:
            dim = f"{name}_component"
            texts = np.array([utf8_text(entry) for entry in signal.components], dtype=object)
            table[dim] = NetcdfVariable((dim,), texts, {"long_name": f"component of {name}"}, True)
            dims = ("time", dim)
        attributes = {
            "units": utf8_text(signal.units),
            "long_name": utf8_text(signal.long_name or name),
            "ukctrl_role": "controller signal",
        }
        table[name] = NetcdfVariable(dims, samples[name], attributes)
    return table


def sample_columns(samples: Samples) -> dict[str, NDArray[Any]]:
    """Return every recorded number over time as a column of its own, named as in result files."""
    variables = netcdf_variables(samples)
    columns: dict[str, NDArray[Any]] = {}
    for name, entry in variables.items():
        if entry.dims[:1] != ("time",):
            continue
        labels = [variables[dim].values.tolist() for dim in entry.dims[1:]]
        names = (".".join((name, *each)) for each in itertools.product(*labels))
        flat = np.asarray(entry.values).reshape(len(samples), -1)
        columns |= dict(zip(names, flat.T, strict=True))
    return columns


def netcdf_attributes(record: RunRecord) -> dict[str, Any]:
    """Return the global attributes of a result file."""
    return {
        "ukctrl_format": FORMAT,
        "title": utf8_text(record.title),
        "status": record.status,
        "message": utf8_text(record.message),
        "scenario": toml_text(record.scenario),
        "provenance": json.dumps(finite_or_none(record.provenance), ensure_ascii=False),
    }


def dataset(record: RunRecord) -> xr.Dataset:
    """Return the labelled dataset of a run.

    Raises:
        InputError: xarray is not installed.
    """
    try:
        import xarray as xr
    except ImportError:
        raise missing_package_error("Result.data", "xarray") from None
    variables: dict[bool, dict[str, Any]] = {True: {}, False: {}}
    for name, entry in netcdf_variables(record.samples).items():
        values = entry.values
        if values.dtype == object:
            values = values.astype(str) if values.size else np.empty(0, dtype="<U1")
        variables[entry.is_coordinate][name] = (entry.dims, values, entry.attributes)
    return xr.Dataset(
        data_vars=variables[False], coords=variables[True], attrs=netcdf_attributes(record)
    )


def save(record: RunRecord, summary: Mapping[str, Any], directory: Path) -> Path:
    """Write the three files of a run, each in one atomic step."""
    content = json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False)
    scenario, run_id = toml_text(record.scenario).encode(), run_id_of_result(record.provenance)
    with output_folder("the result", directory):
        # first: should this end here, `load` finds the id of another run in the other files
        _write_netcdf(record, directory / "result.nc")
        remove_other_runs(directory, run_id)
        write_atomically(directory / "summary.json", f"{content}\n".encode())
        write_atomically(
            directory / "scenario.toml", with_run_id("scenario.toml", scenario, run_id)
        )
    return directory


def load(path: Path) -> dict[str, Any]:
    """Return the fields of a `Result` from its directory or its `result.nc`."""
    file = path / "result.nc" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"no result at '{path}'; it must be a folder with a result.nc, or that file itself."
        )
    try:
        with open_untrusted(file) as source:
            fields = _read(source)
        if file != path:
            check_one_run(
                path, run_id_of_result(fields["provenance"]), ("summary.json", "scenario.toml")
            )
        return fields
    except UkctrlError:
        raise
    # h5py raises many kinds for a damaged file
    except Exception as error:
        raise InputError(f"'{file}' is not a readable result: {one_line(error)}.") from error


def _write_netcdf(record: RunRecord, path: Path) -> None:
    import h5py

    with open_for_writing(path) as target:
        table = netcdf_variables(record.samples)
        for key, value in netcdf_attributes(record).items():
            target.attrs[key] = value
        # NetCDF knows a variable that is named as its axis to be a coordinate
        target.attrs["coordinates"] = " ".join(
            name for name, entry in table.items() if entry.is_coordinate and name != entry.dims[0]
        )
        for entry in table.values():
            for dim, size in zip(entry.dims, entry.values.shape, strict=True):
                if dim not in target.dimensions:
                    target.dimensions[dim] = size
        for variable, entry in table.items():
            text = entry.values.dtype == object
            dtype = h5py.string_dtype() if text else np.float64
            stored = target.create_variable(variable, entry.dims, dtype, data=entry.values)
            for key, value in entry.attributes.items():
                stored.attrs[key] = value
            # pages of a long run that are written need not stay in memory
            record.samples.release()


def _read(source: Any) -> dict[str, Any]:
    has_format = "ukctrl_format" in source.attrs
    version = int(text_attribute(source, "ukctrl_format")) if has_format else None
    if version is None or version > FORMAT:
        raise InputError(
            f"the result must have ukctrl_format {FORMAT} or less; got {version or 'none'}. "
            "Read it with the version of ukctrl that wrote it."
        )
    # Whatever is absent would be made up, in a size that the labels declare and nothing holds.
    absent = [name for name, field in FIELDS.items() if field.always and name not in source]
    if absent:
        raise InputError(f"'{source.filename}' must hold '{absent[0]}', as every result does.")
    named = {
        text.attribute: text_dataset(source, text.name)
        for text in AXIS_TEXTS
        # an older file names no passive blocks
        if text.name in source and text.axis != "axis"
    }
    limit = tuple(numeric_dataset(source, "effort_limit")[...].tolist())
    keep_margins = (
        numeric_dataset(source, "keep_margin")[...].tolist() if "keep_margin" in source else ()
    )
    signal_names = [name for name in source if "ukctrl_role" in source[name].attrs]
    store, arrays = _read_samples(
        source, ["time", *filter(source.__contains__, FIELDS), *signal_names]
    )
    return {
        "samples": Samples.build(
            time=arrays["time"],
            samples={name: array for name, array in arrays.items() if name in FIELDS},
            labels=Labels(**named, effort_limit=limit, keep_row_margins=tuple(keep_margins)),
            signals={name: _signal(source, name, arrays[name]) for name in signal_names},
            store=store,
        ),
        "status": text_attribute(source, "status"),
        "message": text_attribute(source, "message"),
        "scenario": parse_toml(text_attribute(source, "scenario"), "its scenario"),
        "provenance": json.loads(text_attribute(source, "provenance")),
    }


def _read_samples(source: Any, names: Iterable[str]) -> tuple[SampleStore, dict[str, Array]]:
    """Return the arrays of the samples, and what keeps them: a long run is no burden to memory."""
    variables = {name: numeric_dataset(source, name) for name in names}
    count = len(variables["time"])
    for name, variable in variables.items():
        if variable.shape[:1] != (count,):
            raise ShapeError(f"{name} must have {count} samples; got shape {variable.shape}.")
    # into a file of our own: result.nc may be compressed, or truncated meanwhile (decision 0104)
    store = SampleStore(count, sum(int(np.prod(entry.shape[1:])) for entry in variables.values()))
    for first in range(0, max(count, 1), max(store.step, 1)):
        for name, variable in variables.items():
            store.write(first, {name: variable[first : first + store.step]})
    return store, store.read(count)


def _signal(source: Any, name: str, values: Array) -> SignalSeries:
    variable, dim = source[name], f"{name}_component"
    return SignalSeries(
        values=values,
        units=text_attribute(variable, "units"),
        long_name=text_attribute(variable, "long_name"),
        components=text_dataset(source, dim) if dim in source else (),
    )
