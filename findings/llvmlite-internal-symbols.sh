#!/bin/sh
# llvmlite 0.50.0 (LLVM's MCJIT, as Numba uses it): object files of one engine that call each other by name.
#
# Expected: an internal function is seen by its own object alone, as a static function in C; a caller in another
# object gets the one function of that name that is external. So does every static linker: LLVM's own object code
# calls the external one when `cc` links the same three files.
# Seen: the object that was added last answers, be its function internal or not. With an internal `scale` behind the
# external one the engine calls the internal one, where the linker calls the external one.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/lib" llvmlite==0.50.0
cat > "$folder/names.py" <<'PYTHON'
import ctypes
import subprocess
import sys

import llvmlite.binding as llvm

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
TRIPLE = llvm.get_process_triple()
HIDDEN = """
define internal i64 @scale(i64 %x) noinline {
  %y = mul i64 %x, 100
  ret i64 %y
}
define i64 @other(i64 %x) {
  %y = call i64 @scale(i64 %x)
  ret i64 %y
}
"""
VISIBLE = "define i64 @scale(i64 %x) {\n  %y = mul i64 %x, 2\n  ret i64 %y\n}\n"
CALLER = """
declare i64 @scale(i64)
define i64 @caller(i64 %x) {
  %y = call i64 @scale(i64 %x)
  ret i64 %y
}
"""


def machine():
    return llvm.Target.from_triple(TRIPLE).create_target_machine(reloc="pic")


def module(text):
    return llvm.parse_assembly(f'target triple = "{TRIPLE}"\n{text}')


def code(text):
    return machine().emit_object(module(text))


def in_engine(*texts):
    engine = llvm.create_mcjit_compiler(module(""), machine())
    for text in texts:
        engine.add_object_file(llvm.ObjectFileRef.from_data(code(text)))
        engine.finalize_object()
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("caller"))
    return call(3)


def linked(*texts):
    files = []
    for k, text in enumerate(texts):
        files.append(f"{sys.argv[1]}/part{k}.o")
        with open(files[-1], "wb") as output:
            output.write(code(text))
    subprocess.run(["cc", "-shared", "-o", f"{sys.argv[1]}/parts.so", *files], check=True)
    return ctypes.CDLL(f"{sys.argv[1]}/parts.so").caller(3)


print(f"engine: {in_engine(VISIBLE, CALLER)}, internal one last: {in_engine(VISIBLE, HIDDEN, CALLER)}, "
      f"first: {in_engine(HIDDEN, VISIBLE, CALLER)}; linker: {linked(VISIBLE, HIDDEN, CALLER)}")
PYTHON
seen=$(PYTHONPATH="$folder/lib" python3 "$folder/names.py" "$folder")
echo "scale(3) by the caller, $seen"
[ "$seen" = "engine: 6, internal one last: 300, first: 6; linker: 6" ]
