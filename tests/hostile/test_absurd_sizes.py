"""A small file that asks for much memory is refused in one line, before it gets any."""

from __future__ import annotations

import tracemalloc
import zlib

import h5py
import numpy as np
import pytest

from ukctrl.cli import main
from ukctrl.mechanics.reference.csv_columns import read_columns

MUCH = 50_000_000
SOME = 4_000_000


def instead(file, *layout, **more):
    """Put another array in the place of the energies."""
    del file["energy"]
    file.create_dataset("energy", *layout, **more)
    file["energy"].dims[0].attach_scale(file["time"])


def never_written(file):
    instead(file, (MUCH,), "f8", chunks=(1000,), compression="gzip")


def larger_than_any_disk(file):
    instead(file, (2**60,), "f8", chunks=(1000,), compression="gzip")


def called_a_mere_dimension(file):
    """Say of a series what NetCDF says of an axis that nothing is stored along."""
    instead(file, (MUCH,), "f8", chunks=(1000,), compression="gzip")
    file["energy"].attrs["NAME"] = np.bytes_("This is a netCDF dimension")


def a_chunk_larger_than_its_array(file):
    size, chunks = len(file["time"]), (10 * MUCH,)
    instead(file, (size,), "f8", maxshape=(None,), chunks=chunks, compression="gzip")
    file["energy"].id.write_direct_chunk((0,), zlib.compress(bytes(8 * size)))


def compressed(file, filters, *chunks):
    """Store compressed bytes as they are, as the energies."""
    size = len(file["time"])
    del file["energy"]
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_chunk((size,))
    for _ in range(filters):
        layout.set_deflate(9)
    space = h5py.h5s.create_simple((size,))
    energy = h5py.h5d.create(file.id, b"energy", h5py.h5t.NATIVE_DOUBLE, space, layout)
    for chunk in chunks:
        energy.write_direct_chunk((0,), chunk)
    file["energy"].dims[0].attach_scale(file["time"])


def a_chunk_that_inflates_beyond_its_size(file):
    compressed(file, 1, zlib.compress(bytes(400_000_000), 1))


def compressed_twice(file):
    compressed(file, 2, zlib.compress(zlib.compress(bytes(8 * MUCH), 1), 9))


def bytes_that_become_numbers(file):
    """One byte in the file is eight in memory."""
    for name in ("energy", "kinetic_energy", "power", "rank", "reach", "sigma_min"):
        if name in file:
            del file[name]
        file.create_dataset(name, (60 * SOME,), "i1", chunks=(SOME,), compression="gzip")
        file[name].id.write_direct_chunk((0,), zlib.compress(bytes(SOME), 9))


def labels_of_what_is_not_there(file):
    """Many names along an axis, many times, and no array that has both."""
    for name in ("q", "coordinate", "coordinate_units", "time"):
        del file[name]
    for name in ("coordinate", "coordinate_units"):
        file[name] = np.full(20_000, "q", dtype="S1")
    size = SOME // 2
    file.create_dataset("time", (size,), "f8", chunks=(size // 2,), compression="gzip")


def numbers_of_any_length(file):
    instead(file, (3,), h5py.vlen_dtype(np.float64))


def one_text_a_thousand_times(file):
    """Every entry along an axis refers to the same long text."""
    del file["row"]
    file.create_dataset("row", (2000,), h5py.string_dtype())
    file["row"][0] = "x" * 2_000_000
    file["row"].make_scale("row")
    at = file["row"].id.get_offset()
    return lambda data: data[:at] + 2000 * data[at : at + 16] + data[at + 2000 * 16 :]


def one_text_in_a_thousand_attributes(file):
    text = h5py.string_dtype()
    file.attrs.create("message", np.array(["x"] * 4000, dtype=object), dtype=text)


@pytest.mark.slow(
    only=[
        "a_chunk_that_inflates_beyond_its_size-'energy' must be compressed by deflate alone",
        "compressed_twice-'energy' must be compressed by deflate alone",
    ]
)
@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (never_written, "must hold what it declares"),
        (larger_than_any_disk, "must hold what it declares"),
        (called_a_mere_dimension, "must hold what it declares"),
        (a_chunk_larger_than_its_array, "must hold what it declares"),
        (a_chunk_that_inflates_beyond_its_size, "'energy' must be compressed by deflate alone"),
        (compressed_twice, "'energy' must be compressed by deflate alone"),
        (bytes_that_become_numbers, "must hold what it declares"),
        (labels_of_what_is_not_there, "must hold 'q'"),
        (numbers_of_any_length, "must hold numbers in 'energy'"),
        (one_text_a_thousand_times, "its texts in 'row' are longer than the file"),
        (one_text_in_a_thousand_attributes, "must have one text as 'message'"),
    ],
)
def test_a_result_that_declares_more_than_it_holds_is_refused(spoil, says, good, tmp_path, refused):
    path = tmp_path / "result.nc"
    path.write_bytes(good)
    with h5py.File(path, "r+") as file:
        afterwards = spoil(file)
    if afterwards:
        path.write_bytes(afterwards(path.read_bytes()))
    refused(tmp_path, says)


TABLE = """
title = "the tool follows a table"
robot = "scara"
start.q = { q1 = 0.5, q2 = -0.9, q3 = 0.4, q4 = 0.0 }
controller.use = "servo-baumgarte"
timing.duration = 0.01
[[servo]]
kind = "joint_follows"
joints = ["q4"]
path = { kind = "table", file = "FILE" }
"""


def test_a_table_that_never_ends_is_refused(tmp_path, capfd):
    (tmp_path / "task.toml").write_text(TABLE.replace("FILE", "/dev/zero"), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["check", str(tmp_path / "task.toml")])
    out, err = capfd.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
    assert "must be a file that exists; '/dev/zero' is not one" in err


@pytest.mark.slow
def test_a_table_takes_no_more_memory_than_its_file(tmp_path):
    rows = 100_000
    (tmp_path / "path.csv").write_text("t,x\n" + "".join(f"{k},0\n" for k in range(rows)))
    tracemalloc.start()
    time, values = read_columns(tmp_path / "path.csv", "t", None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(time), values.shape) == (rows, (rows, 1))
    assert peak < 60 * rows  # two numbers, copied once; rows of texts take 250 bytes and more


@pytest.mark.parametrize("name", ["journal.jsonl", "study.json"])
def test_a_journal_that_never_ends_is_refused(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = ["--set", "timing.duration=0.01", "--vary", "controller.feedback.alpha=1,2"]
    sweep = ["sweep", "scara-helix-baumgarte", *words, "--jobs", "1", "--no-report", "--out", "out"]
    with pytest.raises(SystemExit):
        main(sweep)
    capfd.readouterr()
    (tmp_path / "out" / name).unlink()
    (tmp_path / "out" / name).symlink_to("/dev/zero")
    for again in (["report", "out"], [*sweep, "--resume"]):
        with pytest.raises(SystemExit) as ended:
            main(again)
        assert ended.value.code == 2
        assert capfd.readouterr().err.count("\n") == 1
