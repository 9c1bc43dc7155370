"""``tensorflow.python.util.tf_export``: decorators that record the public names of functions and classes.

Source: tensorflow/python/util/tf_export.py, release 1.15 (names, attributes).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gpuplace.tf1.stand_in.util import tf_decorator

ESTIMATOR_API_NAME = "estimator"
TENSORFLOW_API_NAME = "tensorflow"


class SymbolAlreadyExposedError(Exception):
    """An object already has public names."""


class InvalidSymbolNameError(Exception):
    """A public name is not allowed in its API."""


class _Attributes(NamedTuple):
    """The attributes that record an API's names."""

    names: str
    constants: str


API_ATTRS = {
    TENSORFLOW_API_NAME: _Attributes("_tf_api_names", "_tf_api_constants"),
    ESTIMATOR_API_NAME: _Attributes("_estimator_api_names", "_estimator_api_constants"),
}
API_ATTRS_V1 = {
    api: _Attributes(f"{names}_v1", f"{constants}_v1") for api, (names, constants) in API_ATTRS.items()
}


def _recorded(symbol: Any, version: dict[str, _Attributes]) -> list[str]:
    if not hasattr(symbol, "__dict__"):
        return []
    return [name for attributes in version.values() for name in vars(symbol).get(attributes.names) or ()]


def get_v1_names(symbol: Any) -> list[str]:
    """Return an object's public names in TensorFlow 1.

    Args:
        symbol: a function or class.
    """
    return _recorded(symbol, API_ATTRS_V1)


def get_v2_names(symbol: Any) -> list[str]:
    """Return an object's public names in TensorFlow 2.

    Args:
        symbol: a function or class.
    """
    return _recorded(symbol, API_ATTRS)


def _recorded_constants(module: Any, version: dict[str, _Attributes]) -> list[Any]:
    return [one for attributes in version.values() for one in getattr(module, attributes.constants, ())]


class api_export:  # noqa: N801 - TensorFlow's name
    """A decorator that records public names.

    Args:
        *args: the names.
        **kwargs: ``v1``: the names in TensorFlow 1, if they differ; ``overrides``: objects that had the names
            before; ``api_name``: the API; ``allow_multiple_exports``: whether an object may already have
            names.

    Raises:
        InvalidSymbolNameError: a name is not allowed in the API.
    """

    def __init__(self, *args: str, **kwargs: Any) -> None:
        self._names = args
        self._names_v1: Sequence[str] = kwargs.get("v1", args)
        self._api_name: str = kwargs.get("api_name", TENSORFLOW_API_NAME)
        self._overrides: Iterable[Any] = kwargs.get("overrides", ())
        self._allow_multiple_exports: bool = kwargs.get("allow_multiple_exports", False)
        for name in dict.fromkeys([*self._names, *self._names_v1]):
            self._check(name)

    def _check(self, name: str) -> None:
        in_estimator = name.split(".")[0] == ESTIMATOR_API_NAME
        if self._api_name == ESTIMATOR_API_NAME and not in_estimator:
            raise InvalidSymbolNameError(
                f"All symbols exported by Estimator must be under tf.estimator: {name}"
            )
        if self._api_name == TENSORFLOW_API_NAME and in_estimator:
            raise InvalidSymbolNameError(
                f"TensorFlow may not export symbols under tf.estimator, as {name} would be"
            )

    def __call__(self, func: Any) -> Any:
        """Record the names.

        Args:
            func: a function or class, decorated or not.

        Returns:
            The same function or class.

        Raises:
            SymbolAlreadyExposedError: it already has names.
        """
        attributes, attributes_v1 = API_ATTRS[self._api_name].names, API_ATTRS_V1[self._api_name].names
        for other in self._overrides:
            target = tf_decorator.unwrap(other)[1]
            for attribute in (attributes, attributes_v1):
                if hasattr(target, attribute):
                    delattr(target, attribute)
        target = tf_decorator.unwrap(func)[1]
        self._record(target, attributes, tuple(self._names))
        self._record(target, attributes_v1, tuple(self._names_v1))
        return func

    def _record(self, target: Any, attribute: str, names: tuple[str, ...]) -> None:
        there = vars(target).get(attribute)
        if there is not None and not self._allow_multiple_exports:
            raise SymbolAlreadyExposedError(f"Symbol {target.__name__} is already exposed as {tuple(there)}.")
        setattr(target, attribute, names)

    def export_constant(self, module_name: str, name: str) -> None:
        """Record the public names of a constant.

        Args:
            module_name: the module that defines it.
            name: its name there.
        """
        module: Any = sys.modules[module_name]
        for version, names in ((API_ATTRS, self._names), (API_ATTRS_V1, self._names_v1)):
            attribute = version[self._api_name].constants
            noted = vars(module).setdefault(attribute, [])
            noted.append((tuple(names), name))


tf_export = functools.partial(api_export, api_name=TENSORFLOW_API_NAME)
estimator_export = functools.partial(api_export, api_name=ESTIMATOR_API_NAME)
keras_export = functools.partial(api_export, api_name=TENSORFLOW_API_NAME)


def kwarg_only(f: Any) -> Any:
    """Return a decorator for functions that accept only keyword arguments.

    Args:
        f: the function.
    """

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(
                f"{f.__name__} only takes keyword args (possible keys: {list(f.__code__.co_varnames)}). Please pass"
                " these args as kwargs instead."
            )
        return f(**kwargs)

    return tf_decorator.make_decorator(f, wrapper)
