"""Optimised code: object code of a module of LLVM, as a whole.

    python optimised.py TRIPLE PROCESSOR FEATURES < module.ll > code.o
    python optimised.py TRIPLE PROCESSOR FEATURES HEAD FILE CLAIM < module.bc

The first turns loops of known length into straight lines, however long, by options that hold for a
whole process. The second writes a line of text and the code behind it, all at once, and takes away
the file that tells others that it is at it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm

STRAIGHT_LINES = ("-unroll-threshold=16000", "-unroll-full-max-count=64")
"""Instructions that a loop may become, and how often it may run; LLVM has 300 and 8."""


def machine_of(triple: str, processor: str, features: str) -> Any:
    """Return what writes code for a processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, features=features, opt=3, reloc="pic", codemodel="default"
    )


def optimise(module: Any, machine: Any) -> None:
    """Optimise a module for a machine, in place."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def optimised_code(text: str, target: Sequence[str], rounds: int = 1) -> bytes:
    """Return position-independent object code of a module's text.

    Args:
        text: The module in LLVM's language.
        target: Triple, processor and features.
        rounds: How often it is optimised.
    """
    return _code_of(llvm.parse_assembly(text), target, rounds)


def _code_of(module: Any, target: Sequence[str], rounds: int) -> bytes:
    machine = machine_of(*target)
    for _ in range(rounds):
        optimise(module, machine)
    return bytes(machine.emit_object(module))


def write_code(bitcode: bytes, target: Sequence[str], head: str, file: str, claim: str) -> None:
    """Write the code of a module to a file, behind a line of text."""
    try:
        code = _code_of(llvm.parse_bitcode(bitcode), target, 1)
        part = f"{file}.{os.getpid()}"
        with open(part, "wb") as output:
            output.write(head.encode() + b"\n" + code)
        os.replace(part, file)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(claim)


def main() -> None:
    """Read a module, and write its code."""
    target, names = sys.argv[1:4], sys.argv[4:]
    if names:
        write_code(sys.stdin.buffer.read(), target, *names)
        return
    for option in STRAIGHT_LINES:
        llvm.set_option("optimised", option)
    # once a loop has become a line, those within have known lengths
    sys.stdout.buffer.write(optimised_code(sys.stdin.read(), target, rounds=2))


if __name__ == "__main__":
    main()
