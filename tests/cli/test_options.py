"""Options of the commands: what becomes of their text."""

import click
import pytest

from ensclust.cli._options import (
    _parameter,
    base_k,
    in_words,
    k_range,
    several_k,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n=3", 3),
        ("n=0.5", 0.5),
        ("n=1e-3", 0.001),
        ("n=true", True),
        ("n=False", False),
        ("n=single", "single"),
        ("n=a=b", "a=b"),
        ("n=a,2", ["a", 2]),
    ],
)
def test_parameter_values_are_numbers_truths_or_text(text, value):
    name, found = _parameter(text)
    assert (name, found, type(found)) == ("n", value, type(value))


def test_k_is_a_number_a_list_or_a_word():
    assert several_k("5") == [5]
    assert several_k("2, 3") == [2, 3]
    assert several_k("lifetime") == ["lifetime"]


def test_k_named_twice_is_refused():
    with pytest.raises(click.BadParameter, match="'2,3,2' contains 2 more than once"):
        several_k("2,3,2")


def test_any_word_is_left_to_the_method():
    for word in ("auto", "elbow"):
        assert several_k(word) == [word]
    with pytest.raises(click.BadParameter, match="such as 2,3,5, lifetime, bic or"):
        several_k("2,auto")


def test_choices_in_words():
    assert in_words(["a"]) == "a"
    assert in_words(["a", "b"]) == "a or b"
    assert in_words(["a", "b", "c"]) == "a, b or c"


def test_a_range_of_k_holds_both_ends():
    assert k_range("2-4") == [2, 3, 4]
    assert k_range("2, 8") == [2, 8]
    for text in ("", "4-2", "0-3", "2-", "a-b", "2-3-4"):
        with pytest.raises(click.BadParameter, match="a range such as 2-20"):
            k_range(text)


def test_base_k_is_a_number_or_a_pair():
    assert base_k("5") == 5
    assert base_k("5, 20") == (5, 20)


@pytest.mark.parametrize("text", ["", "0", "-2", "2.5", "2,", "2,0", "a b"])
@pytest.mark.parametrize("convert", [several_k, base_k])
def test_what_is_no_positive_integer_is_refused(convert, text):
    with pytest.raises(click.BadParameter, match=f"'{text}' is not a positive integer"):
        convert(text)


def test_three_numbers_are_no_base_k():
    with pytest.raises(click.BadParameter, match="or a pair such as 5,20"):
        base_k("2,3,4")
