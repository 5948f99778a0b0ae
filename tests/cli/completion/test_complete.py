"""What a Tab gives: names of commands, scenarios, robots and cards, and files."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from ukctrl.cli.completion import shells
from ukctrl.cli.completion.complete import (
    LINE_VARIABLE,
    SHELL_VARIABLE,
    WORD_VARIABLE,
    candidates,
    complete,
    split,
)
from ukctrl.cli.main import COMMANDS, app
from ukctrl.core.errors import InputError

ASK = "from ukctrl.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
HEAVY = ("numba", "pinocchio", "scipy", "numpy", "sympy", "matplotlib", "pandas", "rich")


@pytest.fixture
def after(tmp_path, monkeypatch):
    """Return what may follow a line, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def following(line: str) -> list[str]:
        *words, word = split(line)[0]
        return [value for value, _ in candidates(app, words[1:], word)]

    return following


@pytest.fixture
def workspace(after, tmp_path):
    """A folder with files of the user's own."""
    for path, text in {
        "robots/my-arm/robot.toml": 'title = "Mine"\nmodel = "x.urdf"\n',
        "controllers/mine.toml": 'title = "My law"\nkind = "pid"\nkp = 3.0\n',
        "scenarios/my-task.toml": 'title = "My task"\nrobot = "my-arm"\n[start.q]\nelbow = 0.5\n',
        "first.toml": 'robot = "scara"\n',
        "out/one/result.nc": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_every_command_is_completed_with_its_options(after):
    assert after("ukctrl ") == [name for job in COMMANDS.values() for name in job]
    for name in (name for job in COMMANDS.values() for name in job):
        assert "--help" in after(f"ukctrl {name} --")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("run scara-helix-b", ["scara-helix-baumgarte", "scara-helix-bench"]),
        ("run scara-helix -c servo-pi", ["servo-pid"]),
        ("run --trust scara-weak", ["scara-weak-motors"]),
        ("run --controller=servo-pi", ["--controller=servo-pid"]),
        ("compare scara-helix -c light=servo-pi", ["light=servo-pid"]),
        ("compare scara-helix -c ow", ["own"]),
        ("view pendub", ["pendubot-swing-up", "pendubot"]),
        ("check 'two_l", ["two_link"]),
        ("run scara-helix --set tim", []),
        ("run nothing-like-it", []),
        ("nonsense ", []),
    ],
)
def test_names(after, line, found):
    assert after(f"ukctrl {line}") == found


def test_a_users_own_files_come_along(after, workspace):
    assert after("ukctrl run my") == ["my-task"]
    assert after("ukctrl run fir") == ["first.toml"]
    assert after("ukctrl run ./scenarios/m") == ["./scenarios/my-task.toml"]
    assert after("ukctrl run my-task -c mi") == ["mine"]
    assert after("ukctrl check my-a") == ["my-arm"]
    assert after("ukctrl report o") == ["out/"]
    assert after("ukctrl view out/") == ["out/one/"]


def test_robots_of_the_zoo_where_there_are_some(after, tmp_path, monkeypatch):
    models = tmp_path / "cmeel.prefix/share/example-robot-data/robots/talos_data/robots"
    models.mkdir(parents=True)
    (models / "talos_reduced.urdf").write_text("<robot/>")
    monkeypatch.syspath_prepend(tmp_path)
    assert "zoo:" in after("ukctrl view z")
    assert after("ukctrl view zoo:ta") == ["zoo:talos_reduced"]


def test_hostile_files_are_names_like_others(after, workspace):
    scenarios = workspace / "scenarios"
    (scenarios / "odd-deep.toml").write_text("a = " + "[" * 100_000, encoding="utf-8")
    (scenarios / "odd-bytes.toml").write_bytes(b"\xff\xfe\x00title")
    (scenarios / "odd-large.toml").write_text("# " + "x" * 400_000, encoding="utf-8")
    os.mkfifo(scenarios / "odd-fifo.toml")
    names = [f"odd-{kind}" for kind in ("bytes", "deep", "fifo", "large")]
    assert [name for name in after("ukctrl run odd-") if name != "odd-fifo"] == [
        name for name in names if name != "odd-fifo"
    ]


def test_a_shell_is_told_words_with_what_they_are_and_nothing_to_obey(workspace, monkeypatch):
    (workspace / "scenarios" / "b\x1b[31m.toml").write_text("", encoding="utf-8")
    (workspace / "scenarios" / "my-$(x).toml").write_text('title = "a\x1bb"', encoding="utf-8")
    monkeypatch.setenv(SHELL_VARIABLE, "zsh")
    monkeypatch.setenv(LINE_VARIABLE, "ukctrl run my")
    told = complete(app).splitlines()
    assert "my-task\tMy task" in told
    assert not any("\x1b" in line for line in told)
    monkeypatch.setenv(SHELL_VARIABLE, "bash")
    monkeypatch.setenv(WORD_VARIABLE, "my")
    assert "my-\\$\\(x\\)" in complete(app).splitlines()


@pytest.mark.parametrize(
    ("line", "word", "told"),
    [
        ("ukctrl run scara-helix-ben", "scara-helix-ben", "scara-helix-bench"),
        ("ukctrl run scara-helix --controller=servo-pi", "servo-pi", "servo-pid"),
        ("ukctrl compare scara-helix -c a=servo-pi", "servo-pi", "servo-pid"),
    ],
)
def test_bash_keeps_what_stands_before_its_own_word(tmp_path, monkeypatch, line, word, told):
    monkeypatch.chdir(tmp_path)
    for name, value in ((SHELL_VARIABLE, "bash"), (LINE_VARIABLE, line), (WORD_VARIABLE, word)):
        monkeypatch.setenv(name, value)
    assert complete(app) == f"{told}\n"


@pytest.mark.slow
def test_a_tab_imports_nothing_that_takes_long(tmp_path):
    asked = ASK + f"import sys; print([m for m in {HEAVY} if m in sys.modules])"
    for line in ("ukctrl ru", "ukctrl view ", "ukctrl run scara-helix -c ",
                 "ukctrl run scara-helix --format pdf -q --width page -c "):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", asked],
            env={**os.environ, SHELL_VARIABLE: "fish", LINE_VARIABLE: line},
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
        )
        *told, heavy = done.stdout.splitlines()
        assert (heavy, done.stderr) == ("[]", ""), line
        assert told


# Installing


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder, and no other place for settings."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(("shell", "file"), [("bash", ".bashrc"), ("zsh", ".zshrc")])
def test_installing_twice_adds_one_line_to_what_there_is(home, shell, file):
    (home / file).write_text("alias x=y", encoding="utf-8")
    changed = shells.install(shell)
    assert [path.is_file() for path in changed] == [True, True]
    assert shells.install(shell) == changed[:1]
    first, line = (home / file).read_text("utf-8").splitlines()
    assert first == "alias x=y"
    assert str(changed[0]) in line


def test_fish_needs_its_script_alone(home):
    assert shells.install("fish") == [home / ".config/fish/completions/ukctrl.fish"]


def test_a_shell_without_a_script_is_refused(home, monkeypatch):
    with pytest.raises(InputError, match="no shell named 'tcsh'"):
        shells.detect_shell("tcsh")
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    with pytest.raises(InputError, match="must be one of bash, zsh, fish; it is 'tcsh'"):
        shells.detect_shell(None)
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("fish", "/bin/fish"))
    assert shells.detect_shell(None) == "fish"
    assert shells.detect_shell("zsh") == "zsh"


def test_the_command_installs_and_shows(home, capsys):
    app(["--show-completion", "--shell", "bash"], standalone_mode=False)
    assert capsys.readouterr().out == shells.BASH
    app(["--install-completion", "--shell", "zsh"], standalone_mode=False)
    assert ".zshrc" in capsys.readouterr().out
    with pytest.raises(InputError, match="--shell goes with"):
        app(["--shell", "zsh", "list"], standalone_mode=False)


def test_a_folder_whose_name_a_shell_would_read_is_one_word(tmp_path, monkeypatch):
    odd = tmp_path / "o'brien $(touch ran)"
    monkeypatch.setenv("XDG_DATA_HOME", str(odd))
    bash = shells.shells()["bash"]
    bash.script_path.parent.mkdir(parents=True)
    bash.script_path.write_text("echo read", encoding="utf-8")
    done = subprocess.run(
        ["bash", "-c", bash.rc_line], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "read\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", shells.shells())
def test_a_script_hands_over_what_the_command_reads(name):
    script = shells.shells()[name].script
    assert f"{SHELL_VARIABLE}{' ' if name == 'fish' else '='}{name}" in script
    assert re.search(rf"{LINE_VARIABLE}[ =]", script)
    assert (WORD_VARIABLE in script) == (name == "bash")
    assert re.search(r"^\s+.*2>/dev/null", script, re.MULTILINE)  # complaints are of no use there
    assert not re.search(r"\\n", script.replace("IFS=$'\\n'", ""))
    begun = {
        "bash": "complete -F _ukctrl_completion ukctrl\n",
        "zsh": "compdef _ukctrl ukctrl\n",
        "fish": "complete --command ukctrl --no-files --arguments '(__ukctrl_complete)'\n",
    }
    assert begun[name] in script
