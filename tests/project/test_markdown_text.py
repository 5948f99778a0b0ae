"""Numbers on the gallery's pages: digits that hold everywhere, or bounds that are kept."""

import pytest
from markdown_text import NotKept, above, below, error, within


@pytest.mark.parametrize("value", [0.0, 3e-13, 9.9e-10])
def test_the_bound_is_the_authors_and_not_the_decade_of_the_value(value):
    assert below(value, 1e-9) == error(value, 1e-9) == "below 10⁻⁹"


@pytest.mark.parametrize("value", [2e-9, float("nan"), float("inf")])
def test_a_bound_that_is_not_kept_is_refused(value):
    with pytest.raises(NotKept, match="must be below 1e-09; got"):
        below(value, 1e-9)


def test_an_error_far_above_the_bound_of_rounding_is_a_number():
    assert error(0.0123, 1e-9) == "0.012"
    assert error(0.0123, 1e-9, "{:.1f} mm".format) == "0.0 mm"


def test_an_error_that_is_neither_rounding_nor_far_above_it_is_refused():
    with pytest.raises(NotKept):
        error(3e-7, 1e-9)


def test_what_rounding_decides_is_told_as_a_range():
    assert above(3.7, 1.0) == "above 1"
    assert within(3.5, 3.0, 4.0, "three to four") == "three to four"
    with pytest.raises(NotKept, match="must be above 1; got"):
        above(0.5, 1.0)
    with pytest.raises(NotKept, match="'three to four' must be within 3 .. 4; got 4.1"):
        within(4.1, 3.0, 4.0, "three to four")
