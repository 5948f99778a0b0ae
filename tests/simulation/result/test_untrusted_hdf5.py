"""What is believed of a stranger's HDF5 file: each border from both sides, each refusal whole."""

from __future__ import annotations

import contextlib
import subprocess
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from ukctrl.core.errors import InputError
from ukctrl.simulation.result import untrusted_hdf5
from ukctrl.simulation.result.untrusted_hdf5 import (
    UNREADABLE,
    as_text,
    numeric_dataset,
    open_untrusted,
    probe_in_subprocess,
    text_attribute,
    text_dataset,
)


@pytest.fixture
def written(tmp_path):
    """Write a file; return its path, or what reading it says with the path left out."""

    def write(fill):
        path = tmp_path / "x.nc"
        with h5py.File(path, "w") as file:
            fill(file)
        return path

    return write


def said(path, read=lambda file: None):
    with pytest.raises(InputError) as caught, open_untrusted(path) as file:
        read(file)
    return str(caught.value).replace(f"'{path}'", "X")


def array(**options):
    options = {"data": np.arange(100.0)} | options
    return lambda file: file.create_dataset("a", **options)


def linked(link):
    return lambda file: file.__setitem__("a", link)


def grouped(file):
    file.create_group("a")


def elsewhere(file):
    file.create_dataset("a", (4,), "f8", external=[("other.bin", 0, 32)])


def virtual(file):
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource("other.nc", "a", (4,))
    file.create_virtual_dataset("a", layout)


GOOD = {
    "plain": array(),
    "nothing": lambda file: None,
    "empty": array(data=np.zeros(0)),
    "deflated": array(chunks=(10,), compression="gzip"),
    "shuffled and summed": array(chunks=(10,), compression="gzip", shuffle=True, fletcher32=True),
    "in chunks": array(chunks=(7,)),
    "texts": array(data=["a", "b"], dtype=h5py.string_dtype()),
    "zeros as small as deflate makes them": array(data=np.zeros(10**5), chunks=(10**5,),
                                                  compression="gzip"),
}  # fmt: skip
HERE = (
    "X must hold its arrays itself; 'a' is a link, a group, or an array that lies in another file."
)
DEFLATE = (
    "X: 'a' must be compressed by deflate alone, in chunks of at most 256 MB that hold what they "
    "declare."
)
BAD = {
    "group": (grouped, HERE),
    "soft link": (linked(h5py.SoftLink("/b")), HERE),
    "external link": (linked(h5py.ExternalLink("other.nc", "/a")), HERE),
    "external array": (elsewhere, HERE),
    "virtual array": (virtual, HERE),
    "another filter": (array(chunks=(10,), compression="lzf"), DEFLATE),
}


@pytest.mark.parametrize("case", GOOD)
def test_what_other_tools_write_is_read(written, case):
    with open_untrusted(written(GOOD[case])) as file:
        assert {file[name].ndim for name in file} <= {1}


@pytest.mark.parametrize("case", BAD)
def test_what_is_not_in_the_file_is_refused_whole(written, case):
    fill, sentence = BAD[case]
    assert said(written(fill)) == sentence


@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
def test_a_file_may_declare_as_much_as_deflate_can_hold_and_no_more(written, monkeypatch, dtype):
    """Small numbers count as eight bytes, as what they are read."""
    path = written(lambda file: file.create_dataset("a", (1000,), dtype))  # never written
    size = path.stat().st_size
    for most, fits in ((8000.0 / size, True), (7999.0 / size, False)):
        monkeypatch.setattr(untrusted_hdf5, "MOST_COMPRESSED", most)
        if fits:
            with open_untrusted(path) as file:
                assert "a" in file
        else:
            assert said(path) == (
                f"X must hold what it declares; it has {size} bytes and declares arrays of 8e+03."
            )


def test_what_arrays_declare_adds_up(written, monkeypatch):
    path = written(lambda file: [file.create_dataset(name, (1000,), "f8") for name in "ab"])
    monkeypatch.setattr(untrusted_hdf5, "MOST_COMPRESSED", 15_999.0 / path.stat().st_size)
    assert "declares arrays of 1.6e+04." in said(path)


def test_a_chunk_larger_than_its_array_counts_whole(written, monkeypatch):
    path = written(
        lambda file: file.create_dataset("a", (10,), "f8", chunks=(1000,), maxshape=(None,))
    )
    monkeypatch.setattr(untrusted_hdf5, "MOST_COMPRESSED", 7999.0 / path.stat().st_size)
    assert "declares arrays of 8e+03." in said(path)


def test_chunks_are_read_up_to_a_size(written, monkeypatch):
    path = written(array(chunks=(10,), compression="gzip"))
    monkeypatch.setattr(untrusted_hdf5, "LARGEST_CHUNK", 80)
    with open_untrusted(path):
        pass
    monkeypatch.setattr(untrusted_hdf5, "LARGEST_CHUNK", 79)
    assert "must be compressed by deflate alone, in chunks of at most 0 MB" in said(path)


def test_a_chunk_that_inflates_beyond_what_it_declares_is_refused(written):
    import zlib

    def fill(file, size):
        file.create_dataset("a", (10,), "f8", chunks=(10,), compression="gzip")
        file["a"].id.write_direct_chunk((0,), zlib.compress(bytes(size)))

    with open_untrusted(written(lambda file: fill(file, 80))):
        pass
    assert said(written(lambda file: fill(file, 81))) == DEFLATE


def test_a_chunk_that_says_it_is_not_compressed_is_not_inflated(written):
    def fill(file):
        file.create_dataset("a", (10,), "f8", chunks=(10,), compression="gzip")
        file["a"].id.write_direct_chunk((0,), np.arange(10.0).tobytes(), filter_mask=1)

    with open_untrusted(written(fill)) as file:
        np.testing.assert_array_equal(file["a"], np.arange(10.0))


def test_numbers_are_real(written):
    for data in (np.arange(3), np.arange(3.0), np.arange(3, dtype="u2")):
        with open_untrusted(written(array(data=data))) as file:
            np.testing.assert_array_equal(numeric_dataset(file, "a")[:], [0, 1, 2])
    for data in (["x"], np.array([1j]), np.array([True])):
        dtype = {"dtype": h5py.string_dtype()} if data == ["x"] else {}
        path = written(array(data=data, **dtype))
        assert said(path, lambda file: numeric_dataset(file, "a")) == "X must hold numbers in 'a'."


def test_texts_are_texts_along_one_dimension(written):
    texts = ("a", "ß", "")
    with open_untrusted(written(array(data=texts, dtype=h5py.string_dtype()))) as file:
        assert text_dataset(file, "a") == texts
    with open_untrusted(written(array(data=np.array([b"xy", b"z"])))) as file:
        assert text_dataset(file, "a") == ("xy", "z")
    for data in (np.arange(2.0), np.array([[b"x"]])):
        path = written(array(data=data))
        assert said(path, lambda file: text_dataset(file, "a")) == (
            "X must hold a list of texts in 'a'."
        )


@pytest.mark.parametrize("at_once", [2**26, 1])
def test_texts_longer_than_the_file_are_refused(written, monkeypatch, at_once):
    monkeypatch.setattr(untrusted_hdf5, "TEXTS_AT_ONCE", at_once)
    path = written(array(data=["x" * 500] * 9, dtype=h5py.string_dtype()))
    with open_untrusted(path) as file:
        assert text_dataset(file, "a") == ("x" * 500,) * 9
    size = path.stat().st_size
    monkeypatch.setattr(untrusted_hdf5, "as_text", lambda entry: "x" * (size // 9 + 1))
    assert said(path, lambda file: text_dataset(file, "a")) == (
        "X must hold what it declares; its texts in 'a' are longer than the file."
    )
    monkeypatch.setattr(untrusted_hdf5, "as_text", lambda entry: "x" * (size // 9))
    with open_untrusted(path) as file:
        assert len(text_dataset(file, "a")) == 9


def test_an_attribute_is_one_text(written):
    def fill(file):
        file.attrs["one"], file.attrs["listed"] = "text", np.array([b"bytes"])
        file.attrs["many"] = np.array([b"a", b"b"])

    with open_untrusted(written(fill)) as file:
        assert text_attribute(file, "one") == "text"
        assert text_attribute(file, "listed") == "bytes"
        with pytest.raises(KeyError):
            text_attribute(file, "none")
    assert said(written(fill), lambda file: text_attribute(file, "many")) == (
        "X must have one text as 'many'."
    )
    assert [as_text(value) for value in (b"a", "b", np.array([b"c"]), 4)] == ["a", "b", "c", "4"]


@pytest.mark.parametrize(("size", "patience"), [(0, 20.0), (10**8, 30.0)])
def test_a_result_is_tried_in_a_process_of_its_own_first(tmp_path, monkeypatch, size, patience):
    path, asked = tmp_path / "x.nc", {}
    with path.open("wb") as file:
        file.truncate(size)

    def run(words, **given):
        asked.update(given, words=words)
        return SimpleNamespace(returncode=asked["code"], stderr=b"Traceback\nno such module\n")

    monkeypatch.setattr(untrusted_hdf5, "safe_path", contextlib.nullcontext)
    monkeypatch.setattr(subprocess, "run", run)
    for code in (0, UNREADABLE):  # any other fault is left to whoever reads it here
        asked["code"] = code
        probe_in_subprocess(path)
    assert (asked["words"][-1], asked["timeout"]) == (str(path), patience)
    asked["code"] = -11
    with pytest.raises(InputError) as caught:
        probe_in_subprocess(path)
    assert str(caught.value) == f"'{path}' is not a readable result: HDF5 crashes over it."

    asked["code"] = 1
    with pytest.raises(InputError) as caught:
        probe_in_subprocess(path)
    assert str(caught.value) == (
        f"'{path}' could not be tried in a process of its own: no such module."
    )

    def hangs(*_, timeout, **__):
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(InputError) as caught:
        probe_in_subprocess(path)
    assert str(caught.value) == (
        f"'{path}' is not a readable result: HDF5 does not get to its end in {patience:.0f} s."
    )


def test_the_trial_of_a_result_does_read_it(tmp_path):
    """A file that is no result is refused by the process; had it not begun, this would raise."""
    path = tmp_path / "result.nc"
    path.write_bytes(b"no result")
    probe_in_subprocess(path)
