"""``tf.app.flags``: options of a script, read from its command line when the first one is asked for.

>>> from gpuplace.api.flags import FlagValues
>>> values = FlagValues()
>>> values.define("batch_size", 16, "Examples a step.", int)
>>> values.define("verbose", True, "Whether to say more.", bool)
>>> values(["train.py", "--batch_size=32", "--noverbose", "--other", "file"])
['train.py', '--other', 'file']
>>> values.batch_size, values.verbose
(32, False)

Source: tensorflow/python/platform/flags.py, release 1.15 (names and arguments of the functions).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = [
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_string",
    "FLAGS",
    "Error",
    "FlagValues",
    "IllegalFlagValueError",
    "mark_flag_as_required",
]


class Error(Exception):
    """Something is wrong with a flag."""


class IllegalFlagValueError(Error):
    """A flag was given a value that it cannot have."""


_TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def _truth(text: str) -> bool:
    return _TRUTHS[text.lower()]


class FlagValues:
    """The flags and their values.

    A flag that is defined once more starts anew: a notebook's cell may run again.
    """

    def __init__(self) -> None:
        self.__dict__["_parsers"] = {}
        self.__dict__["_values"] = {}
        self.__dict__["_helps"] = {}
        self.__dict__["_required"] = set()
        self.__dict__["_is_parsed"] = False

    def define(self, name: str, default: Any, help: str | None, kind: Callable[[str], Any]) -> None:
        """Adds a flag.

        Args:
            name: without hyphens before it.
            default: its value where the command line does not give one.
            help: one line about it. None: nothing.
            kind: makes a value from text; ``bool`` for a flag that may stand alone.
        """
        self._parsers[name] = kind
        self._values[name] = default
        self._helps[name] = help or ""
        self.__dict__["_is_parsed"] = False

    def __call__(self, argv: Sequence[str]) -> list[str]:
        """Takes the flags out of a command line.

        Args:
            argv: its words, program name first.

        Returns:
            The words that are left.

        Raises:
            IllegalFlagValueError: a value is of the wrong kind, missing, or required and not there.
        """
        left = list(argv[:1])
        words = list(argv[1:])
        while words:
            word = words.pop(0)
            if word == "--":
                left += words
                break
            name, equals, text = word.lstrip("-").partition("=")
            negated = name[2:] if name[:2] == "no" and not equals else ""
            if not word.startswith("-") or word == "-":
                left.append(word)
            elif name in self._parsers:
                if self._parsers[name] is bool and not equals:
                    self._values[name] = True
                elif equals or words:
                    self._values[name] = self._parsed(name, text if equals else words.pop(0))
                else:
                    raise IllegalFlagValueError(f"Missing value for flag --{name}")
            elif negated in self._parsers and self._parsers[negated] is bool:
                self._values[negated] = False
            else:
                left.append(word)
        self.__dict__["_is_parsed"] = True
        for name in sorted(self._required):
            if self._values[name] is None:
                raise IllegalFlagValueError(
                    f"flag --{name}=None: Flag --{name} must have a value other than None."
                )
        return left

    def _parsed(self, name: str, text: str) -> Any:
        kind = self._parsers[name]
        try:
            return _truth(text) if kind is bool else kind(text)
        except (ValueError, KeyError) as error:
            reason = error if isinstance(error, ValueError) else "Non-boolean argument to boolean flag"
            raise IllegalFlagValueError(f"flag --{name}={text}: {reason}") from None

    def _parse_once(self) -> None:
        if not self._is_parsed:
            self(sys.argv)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._values:
            raise AttributeError(f"Unknown command line flag '{name}'")
        self._parse_once()
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._values:
            raise AttributeError(f"Unknown command line flag '{name}'")
        self._parse_once()
        self._values[name] = value

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __dir__(self) -> list[str]:
        return sorted(self._values)

    def flag_values_dict(self) -> dict[str, Any]:
        """Name to value."""
        self._parse_once()
        return dict(self._values)

    def get_help(self) -> str:
        """A line for every flag."""
        return "\n".join(
            f"  --{name}: {text}\n    (default: {self._values[name]!r})" for name, text in self._helps.items()
        )


FLAGS = FlagValues()
"""The flags of the process."""


def DEFINE_string(flag_name: str, default_value: str | None, docstring: str | None) -> None:  # noqa: N802
    """Adds a flag that holds text.

    Args:
        flag_name: its name, without hyphens.
        default_value: a text, its value where the command line gives none; None for no value.
        docstring: one line about it.
    """
    FLAGS.define(flag_name, default_value, docstring, str)


def DEFINE_integer(flag_name: str, default_value: int | None, docstring: str | None) -> None:  # noqa: N802
    """Adds a flag that holds an integer, also written as ``0x10``.

    Args:
        flag_name: its name, without hyphens.
        default_value: an integer, its value where the command line gives none; None for no value.
        docstring: one line about it.
    """
    FLAGS.define(flag_name, default_value, docstring, lambda text: int(text, 0))


def DEFINE_float(flag_name: str, default_value: float | None, docstring: str | None) -> None:  # noqa: N802
    """Adds a flag that holds a number.

    Args:
        flag_name: its name, without hyphens.
        default_value: a number, its value where the command line gives none; None for no value.
        docstring: one line about it.
    """
    FLAGS.define(flag_name, None if default_value is None else float(default_value), docstring, float)


def DEFINE_boolean(flag_name: str, default_value: bool | None, docstring: str | None) -> None:  # noqa: N802
    """Adds a flag that is set by ``--name`` and cleared by ``--noname``.

    Args:
        flag_name: its name, without hyphens.
        default_value: a bool, its value where the command line gives none; None for no value.
        docstring: one line about it.
    """
    FLAGS.define(flag_name, default_value, docstring, bool)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(  # noqa: N802
    name: str, default: str | None, enum_values: Sequence[str], help: str | None
) -> None:
    """Adds a flag that holds one of a few words.

    Args:
        name: its name, without hyphens.
        default: one of them, its value where the command line gives none; None for no value.
        enum_values: the words.
        help: one line about it.
    """

    def word(text: str) -> str:
        if text not in enum_values:
            raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")
        return text

    FLAGS.define(name, default, help, word)


def DEFINE_list(name: str, default: Any, help: str | None) -> None:  # noqa: N802
    """Adds a flag that holds words, on the command line with commas between them.

    Args:
        name: its name, without hyphens.
        default: a list or such a text, its value where the command line gives none; None for no value.
        help: one line about it.
    """
    parts = default.split(",") if isinstance(default, str) else default
    FLAGS.define(name, parts, help, lambda text: [word.strip() for word in text.split(",")] if text else [])


def mark_flag_as_required(flag_name: str) -> None:
    """Makes reading the command line fail where a flag stays None.

    Args:
        flag_name: a flag that was defined.
    """
    FLAGS._required.add(flag_name)
