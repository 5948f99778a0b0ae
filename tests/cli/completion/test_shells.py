"""A Tab in bash, zsh and fish, each in a terminal, with what `--install-completion` wrote."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE = 60.0
"""A shell that has not answered after so long hangs [s]."""
ATTRIBUTES = {b"\x1b[c": b"\x1b[?62;c", b"\x1b[0c": b"\x1b[?62;c", b"\x1b[6n": b"\x1b[1;1R"}
"""What a terminal answers to shells that ask what it is, and where its cursor is."""
TYPED = {
    "ukctrl run scara-helix-be\t": "ukctrl run scara-helix-bench",
    "ukctrl run scara-helix --controller=servo-pi\t": (
        "ukctrl run scara-helix --controller=servo-pid"
    ),
    "ukctrl compare scara-helix -c a=servo-pi\t": "ukctrl compare scara-helix -c a=servo-pid",
    "ukctrl check zoo:ta\t": "ukctrl check zoo:talos",
    "ukctrl report ou\ton\t": "ukctrl report out/one/",
    'ukctrl run "my f\t': "ukctrl run my file.toml",
    "ukctrl run my\\ f\t": "ukctrl run my file.toml",
    "bin/ukctrl run my-ta\t": "bin/ukctrl run my-task",
}
"""What is typed, and the line that it becomes."""
ANSWERS = ("compare", "zoo:")
"""Lines with these are about what is answered, whatever the shell: one types them."""


@pytest.fixture
def home(tmp_path):
    """A home and working folder with files, a robot of the zoo, and `ukctrl` on its path."""
    for path, text in {
        "bin/ukctrl": f"#!{sys.executable}\nfrom ukctrl.cli import main\nmain()\n",
        "my file.toml": "",
        "scenarios/my-task.toml": 'title = "Mine"\n',
        "out/one/result.nc": "",
        "zoo/cmeel.prefix/share/example-robot-data/robots/talos_data/talos.urdf": "<robot/>",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    (tmp_path / "bin/ukctrl").chmod(0o755)
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    here = [str(Path(__file__).parents[3]), str(home / "zoo"), os.environ.get("PYTHONPATH", "")]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG", "ZDOT"))
    }
    return {
        **kept,
        "HOME": str(home),
        "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, here)),
        "TERM": "xterm",
        "COLUMNS": "200",
    }


class Typist:
    """Types into a shell and reads what it shows."""

    def __init__(self, shell: str, home: Path) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe(shell, [shell, "-i"], environment(home))

    def types(self, keys: str, until: str) -> str:
        """Return what is shown until a text is."""
        os.write(self.terminal, keys.encode())
        shown, end = b"", time.monotonic() + PATIENCE
        while until.encode() not in shown:
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no {until!r} in {shown!r}"
            piece = os.read(self.terminal, 65536)
            for question, reply in ATTRIBUTES.items():
                if question in piece:
                    os.write(self.terminal, reply)
            shown += piece
        return shown.decode(errors="replace")

    def ends(self) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.mark.slow(only=["bash"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_tab_completes_what_is_typed(shell, home):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    command = [str(home / "bin/ukctrl"), "--install-completion", "--shell", shell]
    subprocess.run(
        command, env=environment(home), check=True, capture_output=True, timeout=PATIENCE
    )
    typist = Typist(shell, home)
    try:
        typist.types("echo rea''dy\n", "ready\r")
        for typed, becomes in TYPED.items():
            if shell != "bash" and any(words in typed for words in ANSWERS):
                continue
            # The beginning of the line turns it into one that is printed, word by word.

            typist.types(f"{typed}\x01echo @\n", f"@{becomes}")
    finally:
        typist.ends()


def test_a_shell_detects_itself(home):
    for shell in ("bash", "zsh", "fish"):
        if shutil.which(shell) is None:
            continue
        done = subprocess.run(
            [shell, "-c", "ukctrl --show-completion; true"],
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert f"_UKCTRL_COMPLETE{' ' if shell == 'fish' else '='}{shell}" in done.stdout
