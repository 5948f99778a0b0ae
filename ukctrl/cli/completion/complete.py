"""From a line that is being typed to what may come next, as the scripts of the shells read it.

A script starts the command with `SHELL_VARIABLE` set to its shell and `LINE_VARIABLE` to the line
as far as the cursor; each line of the answer is one word that may stand there, then a tab, then
what it is.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import textwrap
from collections.abc import Iterable
from typing import Any

import typer

SHELL_VARIABLE, LINE_VARIABLE, WORD_VARIABLE = "_UKCTRL_COMPLETE", "_UKCTRL_LINE", "_UKCTRL_WORD"
"""Environment: the shell; the line as far as the cursor; for bash, what it takes for the word."""
BASH_SPECIAL = re.compile(r"([^\w@%+=:,./~-])")
"""What bash would not take for a letter."""
MAX_LETTERS = 60
"""Of what a word is, no more letters are shown."""


def is_completion_request() -> bool:
    """Return whether a shell asks what may come next."""
    return SHELL_VARIABLE in os.environ


def complete(app: typer.Typer) -> str:
    """Return what a shell is told; nothing where the line leads nowhere."""
    shell, line = os.environ.get(SHELL_VARIABLE, ""), os.environ.get(LINE_VARIABLE, "")
    words, quoted = split(line)
    *line_words, word = words or [""]
    matches: list[tuple[str, str]] = []
    # While a line is half typed much of it is wrong, and a shell has no place for a message.
    with contextlib.suppress(Exception):
        matches = candidates(app, line_words[1:], word)
    pairs = [(value, description) for value, description in matches if value.isprintable()]
    if shell == "bash":
        return "".join(f"{text}\n" for text in _bash_words(pairs, word, quoted))
    return "".join(f"{value}\t{_short(description)}\n" for value, description in pairs)


def candidates(app: typer.Typer, words: list[str], word: str) -> list[tuple[str, str]]:
    """Return what the last word of a command line may become, each with what it is.

    Args:
        app: The command line.
        words: What stands before it, without the command's name.
        word: The last word, as far as it is typed.
    """
    from typer._completion_classes import BashComplete  # which word belongs to which option

    query, line_words = word, list(words)
    if line_words and line_words[-1].startswith("-") and not word.startswith("-"):
        query = f"{line_words.pop()}={word}"  # without its value, nothing of the line would be read
    command: Any = typer.main.get_command(app)
    if words and not words[0].startswith("-") and words[0] not in command.commands:
        return []
    completions = BashComplete(command, {}, "ukctrl", SHELL_VARIABLE).get_completions(
        line_words, query
    )
    option, equals, _ = word.partition("=")
    prefix = f"{option}=" if equals and option.startswith("--") else ""
    return [
        (f"{prefix}{completion.value}", (completion.help or "").replace(r"\[", "["))
        for completion in completions
    ]


def split(line: str) -> tuple[list[str], bool]:
    """Return the words of a line, the last one as far as it is typed, and whether it is quoted.

    >>> split("ukctrl run 'my fi")
    (['ukctrl', 'run', 'my fi'], True)
    >>> split("ukctrl run ")
    (['ukctrl', 'run', ''], False)
    """
    for closing in ("", "'", '"'):  # the one that is missing
        with contextlib.suppress(ValueError):
            words = shlex.split(line.removesuffix("\\") + closing)
            at_start = not closing and line[-1:].isspace() and not line[:-1].endswith("\\")
            return ([*words, ""] if at_start or not words else words), bool(closing)
    return [""], False


def _bash_words(pairs: Iterable[tuple[str, str]], word: str, quoted: bool) -> Iterable[str]:
    """Yield words without what bash keeps: it also begins words at ``=`` and ``:``."""
    bash_word = os.environ.get(WORD_VARIABLE, "")
    bash_word = "" if bash_word in ("=", ":") else split(bash_word)[0][-1]
    start = len(word) - len(bash_word) if word.endswith(bash_word) else 0
    for value, _ in pairs:
        yield value[start:] if quoted else BASH_SPECIAL.sub(r"\\\1", value[start:])


def _short(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    return textwrap.shorten(plain, MAX_LETTERS, placeholder=" ...")
