"""Kernels linked into one module: what they write is known, and what they lack is told."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

from ukctrl.core.compiled import allocating, compiled, deferred
from ukctrl.core.errors import InputError
from ukctrl.core.jit.argument_block import TARGET, type_of
from ukctrl.core.jit.linked_module import (
    ENTER_ARENA,
    KernelCall,
    Target,
    link,
    object_code,
    written_arrays,
)


@compiled
def fill(value, out):
    for i in range(len(out)):
        out[i] = value


@compiled
def hand_on(value, source, out):
    fill(value + source[0], out)


@allocating
def by_a_copy(source, out):
    copy = np.empty(len(source))
    for i in range(len(source)):
        copy[i] = source[i] + 1.0
    fill(copy[-1], out[1:])


@deferred
def late(source, out) -> bool:
    fill(source[0], out)
    return source[0] > 0.0


@compiled
def in_time(pair, out):
    return late(pair[0], pair[1]) and out[0] > 0.0


VECTOR = np.zeros(3)
CALLS = {
    "its own": (hand_on, (1.0, VECTOR, VECTOR), [False, True]),
    "by a copy": (by_a_copy, (VECTOR, VECTOR), [False, True]),
    "of a tuple": (in_time, ((VECTOR, VECTOR), VECTOR), [False, True, False]),
}


@pytest.mark.parametrize("case", CALLS)
def test_which_arrays_a_kernel_may_write_is_proved(case):
    kernel, arguments, written = CALLS[case]
    call = KernelCall(kernel, tuple(map(type_of, arguments)))
    assert written_arrays([call], 4096) == {call: written}


def test_a_module_shows_what_it_defines_alone_and_needs_nothing_else():
    call = KernelCall(by_a_copy, (type_of(VECTOR),) * 2)
    TARGET.refresh()
    text = f'target triple = "{Target.named("host").triple}"\n'
    text += f'declare void @"{call.symbol}"()\ndeclare void @{ENTER_ARENA}(ptr)\n'
    text += f"define void @shown(ptr %memory) {{\n  call void @{ENTER_ARENA}(ptr %memory)\n"
    text += f'  call void @"{call.symbol}"()\n  ret void\n}}\n'
    whole = link(text, [call], 4096)
    visible = [one.name for one in whole.functions if one.linkage.name == "external"]
    assert [name for name in visible if not name.startswith("llvm.")] == ["shown"]
    for name, machine in (("x86-64", 62), ("aarch64", 183)):
        code = object_code(whole, Target.named(name))
        assert code[:4] == b"\x7fELF"
        assert code[18] == machine
    with pytest.raises(InputError, match="machine code needs no_such, which no C library has"):
        link(text.replace(call.symbol, "no_such"), [call], 4096)
    with pytest.raises(InputError, match="target must be host or one of aarch64"):
        Target.named("z80")


LOOP = """
target triple = "{triple}"
define void @powers(ptr %x) {{
start:
  br label %next
next:
  %i = phi i64 [ 0, %start ], [ %j, %next ]
  %f = phi double [ 1.0, %start ], [ %g, %next ]
  %at = getelementptr double, ptr %x, i64 %i
  %y = load double, ptr %at
  %g = fmul double %f, %y
  store double %g, ptr %at
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, 60
  br i1 %more, label %next, label %end
end:
  ret void
}}
"""


def test_loops_of_known_length_become_straight_lines_where_that_is_asked_for():
    target = Target.named("x86-64")
    module = llvm.parse_assembly(LOOP.format(triple=target.triple))
    sizes = {
        straight: len(object_code(module, target, fast=True, straight=straight))
        for straight in (True, False)
    }
    # sixty times load, multiply, store: at least ten bytes each
    assert sizes[True] > sizes[False] + 300
