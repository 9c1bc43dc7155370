"""``tensorflow.python.framework.combinations`` and ``test_combinations``: a test for each combination of arguments.

Tests of mode "eager" and of TensorFlow 2's behaviour are skipped, as there are graphs only.

>>> combine(a=[1, 2], b=3)
[OrderedDict([('a', 1), ('b', 3)]), OrderedDict([('a', 2), ('b', 3)])]

Source: tensorflow/python/framework/combinations.py and test_combinations.py, release 1.15 (names, names of tests).
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import unittest
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from absl.testing import parameterized

from gpuplace.graph.graph import Graph

Combination = OrderedDict[str, Any]
_OF_RUN = ("mode", "tf_api_version")
"""Arguments that say how a test runs; it need not take them."""


class NamedObject:
    """Something with a name for tests, which can be called and asked as itself.

    Args:
        name: the name.
        obj: the thing.
    """

    def __init__(self, name: str, obj: Any) -> None:
        self._name = name
        self._obj = obj

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obj, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._obj(*args, **kwargs)

    def __iter__(self) -> Any:
        return iter(self._obj)

    def __repr__(self) -> str:
        return self._name


def combine(**kwargs: Any) -> list[Combination]:
    """All combinations of values, the arguments in the order of their names.

    Args:
        **kwargs: argument -> its values, or the only one.
    """
    names = sorted(kwargs)
    values = [kwargs[name] if isinstance(kwargs[name], list) else [kwargs[name]] for name in names]
    return [OrderedDict(zip(names, row, strict=True)) for row in itertools.product(*values)]


def times(*combined: Sequence[Combination]) -> list[Combination]:
    """All combinations of combinations, the arguments in the order of the lists.

    Args:
        *combined: lists of combinations, of different arguments.

    Raises:
        ValueError: an argument is in two of them.
    """
    for one, other in itertools.combinations(combined, 2):
        for first, second in itertools.product(one, other):
            if both := first.keys() & second.keys():
                raise ValueError(f"Keys need to not overlap: {sorted(both)} are in {first} and in {second}")
    return [OrderedDict(item for one in row for item in one.items()) for row in itertools.product(*combined)]


def _ending(combination: Combination) -> str:
    """What the name of a test ends with."""
    words = [
        "".join(sign for sign in str(part) if sign.isalnum()) for item in combination.items() for part in item
    ]
    return "_test_" + "_".join(words)


def generate(
    combinations: Sequence[Combination], test_combinations: Iterable[Any] = ()
) -> Callable[[Any], Any]:
    """A decorator of tests, and of classes of tests, that makes a test of each combination.

    Args:
        combinations: arguments, by name; ``mode`` and ``tf_api_version`` say when a test runs.
        test_combinations: nothing that counts: what further arguments say of a run.
    """
    cases = [
        OrderedDict([*combination.items(), ("testcase_name", _ending(combination))])
        for combination in combinations
    ]

    named: Any = parameterized.named_parameters

    def decorate(tested: Any) -> Any:
        if isinstance(tested, type):
            for name, method in list(vars(tested).items()):
                if callable(method) and re.match(unittest.TestLoader.testMethodPrefix, name):
                    setattr(tested, name, _takes_case(method))
            return named(*cases)(tested)
        return named(*cases)(_takes_case(tested))

    return decorate


def _takes_case(method: Callable[..., None]) -> Callable[..., None]:
    """A test that takes all arguments of a combination and gives the test those that it knows."""
    known = inspect.signature(method).parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in known.values())

    @functools.wraps(method)
    def run(self: Any, **kwargs: Any) -> None:
        if kwargs.get("tf_api_version") == 2:
            self.skipTest("Skipping a TF2 test when TF2 is not enabled.")
        if kwargs.get("mode") == "eager":
            self.skipTest("There is no eager execution.")
        given = {
            name: value for name, value in kwargs.items() if takes_all or name in known or name not in _OF_RUN
        }
        if kwargs.get("mode") == "graph":
            with Graph().as_default():
                method(self, **given)
        else:
            method(self, **given)

    vars(run).pop("__wrapped__")  # the signature is another one
    return run
