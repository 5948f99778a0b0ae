"""Every paper as a whole: nothing fails, and every difference has an explanation."""

from __future__ import annotations

import pytest

from ukctrl_papers import papers, recompute, write_reproduction


@pytest.mark.slow
@pytest.mark.parametrize("key", papers())
def test_every_claim_of_a_paper_is_computed_and_every_difference_explained(key, tmp_path):
    found = recompute([key])
    (outcome,) = found.outcomes
    assert outcome.failures == []
    assert [claim for claim in outcome.claims if claim.verdict == "differs"] == []
    assert outcome.claims
    write_reproduction(found, tmp_path)
