"""``tf.app.flags``: absl's flags, parsed from the script's command line on first access.

As in TensorFlow, the module has all names of ``absl.flags``, and ``FLAGS`` need not be parsed before use. Unlike in
TensorFlow, a flag may be redefined, for notebook cells that run again, and unknown flags, such as those of a notebook
kernel, are ignored on first access.

>>> from gpuplace.api import flags
>>> flags.DEFINE_integer("batch_size", 16, "Examples a step.", flag_values=(values := flags.FlagValues()))
>>> values(["train.py", "--batch_size=32", "file"])
['train.py', 'file']
>>> values.batch_size
32

Source: tensorflow/python/platform/flags.py, release 1.15.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import absl.flags
from absl.flags import FlagValues

__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_string",
    "FlagValues",
]

absl.flags.disclaim_key_flags()  # flags belong to the script that defines them

_RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}
"""TensorFlow's old argument names -> absl's."""


def _defining(define: Callable[..., Any]) -> Callable[..., None]:
    """Return absl's ``DEFINE_...`` with TensorFlow's argument names as well; it replaces an existing flag."""

    @functools.wraps(define)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        named = {_RENAMED.get(name, name): value for name, value in kwargs.items()}
        define(*args, **{"allow_override": True, **named})

    return wrapper


DEFINE_string = _defining(absl.flags.DEFINE_string)
DEFINE_integer = _defining(absl.flags.DEFINE_integer)
DEFINE_float = _defining(absl.flags.DEFINE_float)
DEFINE_boolean = _defining(absl.flags.DEFINE_boolean)
DEFINE_bool = DEFINE_boolean
DEFINE_enum = _defining(absl.flags.DEFINE_enum)
DEFINE_list = _defining(absl.flags.DEFINE_list)


class FlagsOfScript:
    """Flags that parse ``sys.argv`` on first access; otherwise like absl's ``FlagValues``.

    Args:
        values: absl's flag values.
    """

    def __init__(self, values: FlagValues) -> None:
        self.__dict__["_values"] = values

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse the flags of a command line.

        Args:
            argv: command line, program name first.
            known_only: ignore unknown flags.

        Returns:
            The remaining arguments.

        Raises:
            absl.flags.Error: a value is invalid or missing, a required flag is missing, or a flag is unknown.
        """
        left: list[str] = self._values(argv, known_only=known_only)
        return left

    def __getattr__(self, name: str) -> Any:
        values = self._values
        if not name.startswith("__") and name in values and not values.is_parsed():
            self(sys.argv, known_only=True)
        return getattr(values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._values, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._values, name)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self._values[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return dir(self._values)

    def __str__(self) -> str:
        return str(self._values)


_FlagValuesWrapper = FlagsOfScript
"""TensorFlow's name for the same method."""


FLAGS = FlagsOfScript(absl.flags.FLAGS)
"""The flags of the process."""


def __getattr__(name: str) -> Any:
    return getattr(absl.flags, name)
