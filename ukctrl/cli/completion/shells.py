"""Scripts that let bash, zsh and fish complete the command, and where they go."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from ukctrl.core.errors import InputError, unknown_name

BASH = r"""_ukctrl_completion() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" word="${COMP_WORDS[COMP_CWORD]}"
    local -x _UKCTRL_COMPLETE=bash _UKCTRL_LINE="$line" _UKCTRL_WORD="$word"
    COMPREPLY=( $("$1" 2>/dev/null) )
    # More is to come after these, so that no space follows.
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[.=:/] ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _ukctrl_completion ukctrl
"""
ZSH = r"""#compdef ukctrl
_ukctrl() {
    local value what
    local -x _UKCTRL_COMPLETE=zsh _UKCTRL_LINE="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX"
    local -a more words_more done words_done
    while IFS=$'\t' read -r value what; do
        if [[ $value == *[.=:/] ]]; then
            more+=("$value"); words_more+=("$value${what:+  -- $what}")
        else
            done+=("$value"); words_done+=("$value${what:+  -- $what}")
        fi
    done < <("${words[1]}" 2>/dev/null)
    # More is to come after some, so that no space follows.
    (( $#more )) && compadd -l -S '' -d words_more -a more
    (( $#done )) && compadd -l -d words_done -a done
}
if [[ ${funcstack[1]} == _ukctrl ]]; then
    _ukctrl "$@"
else
    compdef _ukctrl ukctrl
fi
"""
FISH = r"""function __ukctrl_complete
    set -lx _UKCTRL_COMPLETE fish
    set -lx _UKCTRL_LINE (commandline -cp)
    set -l command (commandline -opc)[1]
    $command 2>/dev/null
end
complete --command ukctrl --no-files --arguments '(__ukctrl_complete)'
"""


class Shell(NamedTuple):
    """A shell: its script, where that goes, and the line that its own file needs for it."""

    script: str
    script_path: Path
    rc_file: Path | None = None
    rc_line: str = ""


def shells() -> dict[str, Shell]:
    """Return the shells by their names, with their files in this user's folders."""
    home = Path.home()
    data = _folder("XDG_DATA_HOME", home / ".local/share") / "ukctrl"
    config = _folder("XDG_CONFIG_HOME", home / ".config")
    bash, zsh = data / "completion.bash", data / "completion.zsh"
    read_bash, read_zsh = (
        f"[ -f {quote(str(script))} ] && . {quote(str(script))}" for script in (bash, zsh)
    )
    return {
        "bash": Shell(BASH, bash, home / ".bashrc", read_bash),
        "zsh": Shell(
            ZSH,
            zsh,
            _folder("ZDOTDIR", home) / ".zshrc",
            "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }; " + read_zsh,
        ),
        "fish": Shell(FISH, config / "fish/completions/ukctrl.fish"),
    }


def detect_shell(name: str | None) -> str:
    """Return the shell that is named, or else the one that has started this process.

    Raises:
        InputError: It is none of those that have a script.
    """
    table = shells()
    if name is None:
        import shellingham

        try:
            name = shellingham.detect_shell()[0]
        except (shellingham.ShellDetectionFailure, OSError):
            name = Path(os.environ.get("SHELL", "")).name
        if name not in table:
            raise InputError(
                f"this shell must be one of {', '.join(table)}; it is '{name or 'unknown'}'. Name "
                "one with --shell."
            )
    if name not in table:
        raise unknown_name("shell", name, table)
    return name


def install(name: str) -> list[Path]:
    """Write a shell's script, and the line that reads it; return the files that changed."""
    shell = shells()[name]
    shell.script_path.parent.mkdir(parents=True, exist_ok=True)
    shell.script_path.write_text(shell.script, encoding="utf-8")
    changed = [shell.script_path]
    if shell.rc_file is not None:
        present = shell.rc_file.read_text("utf-8") if shell.rc_file.is_file() else ""
        if shell.rc_line not in present.splitlines():
            gap = "" if not present or present.endswith("\n") else "\n"
            with shell.rc_file.open("a", encoding="utf-8") as file:
                file.write(f"{gap}{shell.rc_line}\n")
            changed.append(shell.rc_file)
    return changed


def _folder(variable: str, otherwise: Path) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if value else otherwise
