"""``tensorflow.python.util.deprecation`` and ``tf_inspect``, as scripts use them."""

import inspect

import pytest

from gpuplace import tf_logging
from gpuplace.tf1.stand_in.names import resolve
from gpuplace.tf1.stand_in.util import deprecation, tf_inspect

USE = "Use another."


@pytest.fixture
def warnings(monkeypatch):
    """Sentences that were logged."""
    found = []
    monkeypatch.setattr(tf_logging, "warning", lambda sentence, *parts: found.append(sentence % parts))
    monkeypatch.setattr(deprecation, "_PRINTED_WARNING", {})
    return found


def add(one, two=2, *rest, **named):
    """Adds.

    Args:
        one: a number.
    """
    return one + two + sum(rest) + sum(named.values())


def test_they_are_what_scripts_import():
    assert resolve("tensorflow.python.util.deprecation") is deprecation
    assert resolve("tensorflow.python.util.tf_inspect") is tf_inspect


@pytest.mark.parametrize(
    ("date", "when"), [(None, "in a future version"), ("2030-01-31", "after 2030-01-31")]
)
def test_a_function_warns_once_with_the_line_of_the_call(warnings, date, when):
    old = deprecation.deprecated(date, USE)(add)
    assert [old(1), old(1, 2, 3)] == [3, 6]
    (sentence,) = warnings
    assert __file__ in sentence and sentence.endswith(
        f"add (from {__name__}) is deprecated and will be removed {when}.\nInstructions for updating:\n{USE}"
    )
    assert old.__doc__.splitlines()[:5] == [
        "Adds. (deprecated)",
        "",
        f"Warning: THIS FUNCTION IS DEPRECATED. It will be removed {when}.",
        "Instructions for updating:",
        USE,
    ]


def test_warnings_can_be_turned_off(warnings, monkeypatch):
    old = deprecation.deprecated(None, USE, warn_once=False)(add)
    with deprecation.silence():
        old(1)
    assert not warnings
    old(1), old(1)
    assert len(warnings) == 2
    monkeypatch.setattr(deprecation, "_PRINT_DEPRECATION_WARNINGS", False)
    old(1)
    assert len(warnings) == 2


def test_arguments_warn_where_they_are_given_and_not_with_the_value_allowed(warnings):
    some = deprecation.deprecated_args(None, USE, ("two", None), "rest", "named", warn_once=False)(add)
    some(1)
    assert not warnings
    calls = [((1, 5), {}, ["two"]), ((1,), {"two": 5}, ["two"]), ((1, 2, 3), {}, ["two", "rest"])]
    for args, kwargs, expected in [*calls, ((1,), {"three": 3}, ["named"])]:
        warnings.clear()
        assert some(*args, **kwargs) == add(*args, **kwargs)
        assert [f" with {name} is deprecated" in line for name, line in zip(expected, warnings, strict=True)]
    assert "SOME ARGUMENTS ARE DEPRECATED: `(named, rest, two)`. They will be" in some.__doc__
    allowed = deprecation.deprecated_args(None, USE, ("two", 7), warn_once=False)(add)
    warnings.clear()
    allowed(1, 7)
    assert not warnings


def test_values_of_arguments_warn_also_where_they_are_the_default(warnings):
    some = deprecation.deprecated_arg_values(None, USE, warn_once=False, two=2)(add)
    some(1, 3)
    assert not warnings
    some(1)
    assert "calling add (from" in warnings[0] and "with two=2 is deprecated" in warnings[0]


def test_an_alias_of_a_class_is_the_class_with_a_warning(warnings):
    class New:
        def __init__(self, value, other=3):
            self.value = value

    old = deprecation.deprecated_alias("tf.Old", "tf.New", New)
    assert isinstance(old(4), New) and old(5).value == 5
    assert [line.split(": ", 1)[1] for line in warnings] == [
        "The name tf.Old is deprecated. Please use tf.New instead.\n"
    ]
    assert inspect.getfullargspec(old.__init__) == inspect.getfullargspec(New.__init__)


@pytest.mark.parametrize(
    ("decorate", "message"),
    [
        (lambda: deprecation.deprecated("31-01-2030", USE), "YYYY-MM-DD"),
        (lambda: deprecation.deprecated(None, ""), "conversion instructions"),
        (lambda: deprecation.deprecated(None, USE)(property(add)), "make sure @property appears before @deprecated"),
        (lambda: deprecation.deprecated_args(None, USE), "Specify which argument is deprecated"),
        (lambda: deprecation.deprecated_args(None, USE, "none")(add), r"not present in the function sig.*: \['none'\]"),
        (lambda: deprecation.deprecated_args(None, USE, "one", once=True), "Illegal argument"),
        (lambda: deprecation.deprecated_argument_lookup("new", 1, "old", 2), "Cannot specify both 'old' and 'new'"),
    ],
)  # fmt: skip
def test_what_is_refused(decorate, message):
    with pytest.raises(ValueError, match=message):
        decorate()


def test_names_of_python_2_and_of_inspect():
    assert tf_inspect.getargspec(add) == (["one", "two"], "rest", "named", (2,))
    assert tf_inspect.getfullargspec(deprecation.deprecated(None, USE)(add)).args == ["one", "two"]
    assert tf_inspect.isfunction(add)
