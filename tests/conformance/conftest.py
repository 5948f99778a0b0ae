"""What tests of clauses share."""

from __future__ import annotations

import re

import pytest

from ukctrl.core.errors import UkctrlError

NUMBER = r"[-+.\\w]+"


@pytest.fixture
def told():
    """Require that a part breaks a clause and is told so; … stands for any number or word."""

    def told(clause, part, sentence):
        pattern = re.sub("…", NUMBER, re.escape(sentence))
        with pytest.raises(UkctrlError) as raised:
            clause(part)
        assert re.fullmatch(pattern, str(raised.value)), f"{raised.value}"

    return told
