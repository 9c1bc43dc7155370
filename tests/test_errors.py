"""The error family."""

import pickle

import pytest

from gpuplace import errors

ALL = [errors.exception_type_from_error_code(code) for code in range(1, 17)]


@pytest.mark.parametrize("cls", ALL)
def test_every_class_knows_its_code(cls):
    error = cls(None, None, "Sentence.")
    assert isinstance(error, errors.OpError)
    assert errors.error_code_from_exception_type(cls) == error.error_code
    assert (error.message, str(error), error.op, error.node_def) == ("Sentence.", "Sentence.", None, None)


def test_facts_and_hint_are_aligned_below_the_sentence():
    error = errors.NotFoundError(
        None, None, "No file.", facts={"a": "one\ntwo", "longer": "three"}, hint="look again"
    )
    assert str(error).splitlines() == [
        "No file.",
        "  a       one",
        "          two",
        "  longer  three",
        "  try     look again",
    ]
    assert error.message == "No file."


def test_the_repr_has_the_words_of_the_text():
    error = errors.InvalidArgumentError.of("{{node a}} was there", hint="another\x1b[2J")
    error.made_at["a"] = "train.py:14"
    assert str(error) == "node a (defined at train.py:14) was there\n  try  another\\x1b[2J"
    assert repr(error) == f"InvalidArgumentError({str(error)!r})"
    assert repr([error]) == f"[{error!r}]" and "{{" not in repr(error)


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(errors.AbortedError(None, object, "x", facts={"a": "b"}, hint="h")))
    assert type(error) is errors.AbortedError
    assert (error.message, error.facts, error.hint) == ("x", {"a": "b"}, "h")


def test_unknown_codes():
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(99)
    with pytest.warns(UserWarning, match="Unknown error code: 37"):
        error = errors.specific_exception(None, None, "x", 37)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.UnknownError and (again.message, again.error_code) == ("x", 37)
    with pytest.warns(UserWarning, match="Unknown class exception"):
        error = errors.error_code_from_exception_type(ValueError)
    assert (str(error), error.error_code) == ("Unknown class exception", None)


@pytest.mark.parametrize("cls", ALL)
def test_errors_are_made_of_codes(cls):
    error = errors.specific_exception(None, "the operation", "x", cls.code)
    assert type(error) is cls and (error.op, error.error_code) == ("the operation", cls.code)


@pytest.mark.parametrize("op", [None, "the operation"])
def test_an_error_is_made_of_its_sentence(op):
    error = errors.NotFoundError.of("No such file", op=op, facts={"path": "a.pb"}, hint="b.pb")
    same = errors.NotFoundError(op, op, "No such file", facts={"path": "a.pb"}, hint="b.pb")
    assert type(error) is errors.NotFoundError and error.error_code == errors.NOT_FOUND
    assert (error.node_def, error.op) == (op, op)
    assert str(error) == str(same) == "No such file\n  path  a.pb\n  try   b.pb"
