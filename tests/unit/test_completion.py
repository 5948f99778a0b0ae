"""What a Tab gives: names, files, choices, and the keys of the scenario on the line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ukctrl.cli.completion import index, shells
from ukctrl.cli.completion.answer import LINE, VARIABLE, WORD, answer, candidates, split
from ukctrl.cli.main import JOBS, app
from ukctrl.cli.panels import COMPLETED, OF_COMMAND, PANELS
from ukctrl.core.errors import InputError
from ukctrl.core.files import catalog

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


def test_the_index_is_what_the_schemas_say():
    kept = index.FILE.read_text(encoding="utf-8")
    how = "the schemas have changed: python -m ukctrl.cli.completion.index"
    assert kept == index.text(index.made()), how


@pytest.mark.slow
def test_every_command_is_completed_with_its_options(after):
    assert after("ukctrl ") == [name for job in JOBS.values() for name in job]
    for name in (name for job in JOBS.values() for name in job):
        assert "--help" in after(f"ukctrl {name} --")


def test_every_parameter_of_the_panels_and_completions_is_one_of_a_command():
    parameters = {
        name: set(command.__annotations__) for job in JOBS.values() for name, command in job.items()
    }
    every = set().union(*parameters.values())
    assert set(COMPLETED) - {"shell"} <= every
    for name, panels in PANELS.items():
        assert set(" ".join(panels.values()).split()) <= parameters[name]
    for name, completed in OF_COMMAND.items():
        assert set(completed) <= parameters[name]


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
        ("run scara-helix --format p", ["png", "pdf"]),
        ("sweep scara-helix --keep w", ["worst:"]),
        ("sweep scara-helix --design s", ["sobol", "saltelli"]),
        (
            "tune scara-helix --cost rms_",
            ["rms_phi", "rms_beta", "rms_estimate", "rms_estimate_v", "rms_disturbance"],
        ),
        ("reproduce re", ["review", "recursive"]),
        ("schema r", ["robot"]),
        ("list robots under", ["underactuated"]),
        ("list controllers reg", ["regulators"]),
        ("list scenarios quadr", ["quadrotor"]),
        ("run nothing-like-it", []),
        ("nonsense ", []),
    ],
)
def test_names_and_choices(after, line, found):
    assert after(f"ukctrl {line}") == found


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("tim", ["timing.duration=", "timing.sample=", "timing.control="]),
        ("controller.feedback.", ["alpha=", "beta=", "kind="]),
        ("controller.feedback.kind=b", ["aumgarte"]),
        ("controller.allocation.metric=g", ["auss"]),
        ("servo.tool.path.kind=hel", ["ix"]),
        ("servo.0.frame=", ["tool"]),
        ("start.q.q4", ["="]),
        ("start.solve=", ["true", "false"]),
        ("robot=two_l", ["ink"]),
        ("robot.actuator.u1.j", ["oint="]),
        ("controller.use=servo-pi", ["d"]),
        ("nothing.at.all.", []),
        ("timing.duration.", []),
    ],
)
def test_keys_of_the_scenario_and_their_values(after, typed, found):
    expected = [f"{typed}{end}" for end in found] if typed != "tim" else found
    assert after(f"ukctrl run scara-helix --set {typed}") == expected


def test_keys_are_those_of_the_controller_that_the_line_asks_for(after):
    line = "ukctrl run scara-helix -c servo-pid --set controller.feedback.k"
    assert {"kd", "ki", "kp"} <= {key.split(".")[-1].strip("=") for key in after(line)}
    line = (
        "ukctrl run scara-helix --set controller.feedback.kind=sliding --set controller.feedback."
    )
    assert "controller.feedback.box=" in after(line)


def test_every_key_that_is_offered_can_be_set(after):
    from ukctrl import Scenario

    for change in ("timing.duration=", "controller.feedback.alpha=", "seed="):
        assert change in after(f"ukctrl run scara-helix --set {change[:-1]}")
        Scenario.load("scara-helix", {change[:-1]: 3})


@pytest.mark.slow
def test_every_scenario_offers_its_own_keys(after):
    for name in catalog.names("scenarios"):
        keys = after(f"ukctrl run {name} --set ")
        assert "timing." in keys, name
        assert "robot=" in keys, name


def test_a_users_own_files_come_along(after, workspace):
    assert after("ukctrl run my") == ["my-task"]
    assert after("ukctrl run fir") == ["first.toml"]
    assert after("ukctrl run ./scenarios/m") == ["./scenarios/my-task.toml"]
    assert after("ukctrl run my-task -c mi") == ["mine"]
    assert after("ukctrl run my-task -c mine --set controller.k") == [
        "controller.kind=", "controller.kp=", "controller.kd=", "controller.ki="
    ]  # fmt: skip
    assert after("ukctrl run my-task --set start.q.") == ["start.q.elbow="]
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


def test_hostile_files_give_no_keys_and_no_failure(after, workspace):
    scenarios = workspace / "scenarios"
    (scenarios / "deep.toml").write_text("a = " + "[" * 100_000, encoding="utf-8")
    (scenarios / "bytes.toml").write_bytes(b"\xff\xfe\x00title")
    (scenarios / "large.toml").write_text("# " + "x" * 400_000, encoding="utf-8")
    odd = '"a\\u001b[31m" = 1\n"$(rm x)" = 2\n[start.q]\n"b c" = 1\nfine = 2\n'
    (scenarios / "odd.toml").write_text(odd, encoding="utf-8")
    os.mkfifo(scenarios / "fifo.toml")
    for name in ("deep", "bytes", "large", "odd", "fifo"):
        keys = after(f"ukctrl run {name} --set ")
        assert all(key.isprintable() and "$" not in key for key in keys)
        assert "timing." in keys
    assert after("ukctrl run odd --set start.q.") == ["start.q.fine="]


def test_a_shell_is_told_words_with_what_they_are_and_nothing_to_obey(workspace, monkeypatch):
    (workspace / "scenarios" / "b\x1b[31m.toml").write_text("", encoding="utf-8")
    (workspace / "scenarios" / "my-$(x).toml").write_text('title = "a\x1bb"', encoding="utf-8")
    monkeypatch.setenv(VARIABLE, "zsh")
    monkeypatch.setenv(LINE, "ukctrl run my")
    told = answer(app).splitlines()
    assert "my-task\tMy task" in told
    assert not any("\x1b" in line for line in told)
    monkeypatch.setenv(VARIABLE, "bash")
    monkeypatch.setenv(WORD, "my")
    assert "my-\\$\\(x\\)" in answer(app).splitlines()


@pytest.mark.parametrize(
    ("line", "word", "told"),
    [
        ("ukctrl run scara-helix --set timing.du", "timing.du", "timing.duration="),
        ("ukctrl run scara-helix --set=timing.du", "timing.du", "timing.duration="),
        ("ukctrl run a --set controller.feedback.kind=bau", "bau", "baumgarte"),
        ("ukctrl schema ro", "ro", "robot"),
        ("ukctrl compare scara-helix -c a=servo-pi", "servo-pi", "servo-pid"),
    ],
)
def test_bash_keeps_what_stands_before_its_own_word(tmp_path, monkeypatch, line, word, told):
    monkeypatch.chdir(tmp_path)
    for name, value in ((VARIABLE, "bash"), (LINE, line), (WORD, word)):
        monkeypatch.setenv(name, value)
    assert answer(app) == f"{told}\n"


@pytest.mark.slow
def test_a_tab_imports_nothing_that_takes_long(tmp_path):
    asked = ASK + f"import sys; print([m for m in {HEAVY} if m in sys.modules])"
    for line in ("ukctrl ru", "ukctrl view ", "ukctrl run scara-helix --set controller.",
                 "ukctrl run scara-helix --format pdf -q --width page --set t"):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", asked],
            env={**os.environ, VARIABLE: "fish", LINE: line},
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
        shells.shell_of("tcsh")
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    with pytest.raises(InputError, match="must be one of bash, zsh, fish; it is 'tcsh'"):
        shells.shell_of(None)
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("fish", "/bin/fish"))
    assert shells.shell_of(None) == "fish"
    assert shells.shell_of("zsh") == "zsh"


def test_the_command_installs_and_shows(home, capsys):
    app(["--show-completion", "--shell", "bash"], standalone_mode=False)
    assert capsys.readouterr().out == shells.BASH
    app(["--install-completion", "--shell", "zsh"], standalone_mode=False)
    assert ".zshrc" in capsys.readouterr().out
    with pytest.raises(InputError, match="--shell goes with"):
        app(["--shell", "zsh", "list"], standalone_mode=False)


def test_the_index_has_a_line_for_each_table():
    tables = json.loads(index.FILE.read_text("utf-8"))["tables"]
    assert len(index.FILE.read_text("utf-8").splitlines()) > len(tables) > 100
    assert Path(index.FILE).stat().st_size < 64_000


def test_a_folder_whose_name_a_shell_would_read_is_one_word(tmp_path, monkeypatch):
    odd = tmp_path / "o'brien $(touch ran)"
    monkeypatch.setenv("XDG_DATA_HOME", str(odd))
    bash = shells.shells()["bash"]
    bash.place.parent.mkdir(parents=True)
    bash.place.write_text("echo read", encoding="utf-8")
    done = subprocess.run(
        ["bash", "-c", bash.line], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "read\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", shells.shells())
def test_a_script_hands_over_what_the_command_reads(name):
    script = shells.shells()[name].script
    assert f"{VARIABLE}{' ' if name == 'fish' else '='}{name}" in script
    assert re.search(rf"{LINE}[ =]", script)
    assert (WORD in script) == (name == "bash")
    assert re.search(r"^\s+.*2>/dev/null", script, re.MULTILINE)  # complaints are of no use there
    assert not re.search(r"\\n", script.replace("IFS=$'\\n'", ""))
    begun = {
        "bash": "complete -F _ukctrl_completion ukctrl\n",
        "zsh": "compdef _ukctrl ukctrl\n",
        "fish": "complete --command ukctrl --no-files --arguments '(__ukctrl_complete)'\n",
    }
    assert begun[name] in script
