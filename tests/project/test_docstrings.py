"""Every public function and method with two or more parameters says what each of them is.

`python -m tests.project.test_docstrings` prints the share of them by folder, and what is missing.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest

import gpuplace

NAMESPACES = (
    "", "app", "bitwise", "compat", "contrib", "contrib.distributions",
    "contrib.distributions.bijectors", "contrib.framework", "contrib.layers", "contrib.lookup",
    "contrib.rnn", "contrib.seq2seq", "contrib.staging", "contrib.tensorboard.plugins.projector",
    "contrib.testing", "data", "distributions",
    "data.experimental", "dtypes", "errors", "flags", "gfile", "graph_util", "image", "initializers", "io",
    "debugging", "io.gfile", "layers", "linalg", "logging", "lookup", "losses", "manip", "math", "metrics", "nest",
    "nn", "nn.rnn_cell", "profiler", "python_io", "quantization", "queue", "random", "saved_model", "sets",
    "sparse", "strings", "summary", "test", "train", "version",
)  # fmt: skip

NOT_YET: tuple[str, ...] = ()
"""Modules and folders of which the arguments are still to be described; to be emptied, not added to."""

_ENTRY = re.compile(r" {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \([^)]*\))?:")


class Documented(NamedTuple):
    """A public function, method or class that is called."""

    name: str
    """As a program writes it: ``tf.nn.relu``."""
    module: str
    parameters: tuple[str, ...]
    text: str
    """Its docstring; of ``__init__`` that of the class."""

    @property
    def missing(self) -> list[str]:
        """Parameters that its ``Args:`` does not name."""
        known = described(self.text)
        return [name for name in self.parameters if name not in known]


def described(text: str) -> set[str]:
    """The names that the ``Args:`` section of a docstring explains."""
    names: set[str] = set()
    inside = False
    for line in text.splitlines():
        if line and not line.startswith(" "):
            inside = line == "Args:"
        elif inside and (entry := _ENTRY.match(line)):
            names.update(name.strip(" *") for name in entry[1].split(","))
    return names


def _parameters(function: Any) -> tuple[str, ...]:
    names = inspect.signature(function).parameters
    return tuple(name for name in names if name not in ("self", "cls") and not name.startswith("_"))


def _is_plain_record(cls: type) -> bool:
    """Whether the fields have docstrings of their own, below each."""
    return dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")


def _methods(name: str, cls: type) -> Iterator[Documented]:
    """The constructor, where it is the class's own, and the public methods, inherited ones included."""
    if "__init__" in vars(cls) and not _is_plain_record(cls):
        yield Documented(name, cls.__module__, _parameters(cls.__init__), inspect.getdoc(cls) or "")
    for base in cls.__mro__:
        for key, value in vars(base).items():
            function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            if key.startswith("_") or not isinstance(function, FunctionType):
                continue
            if function.__module__.startswith("gpuplace"):
                text = inspect.getdoc(function) or ""
                yield Documented(f"{name}.{key}", function.__module__, _parameters(function), text)


def _public(namespace: str) -> Iterator[tuple[str, Any]]:
    module = gpuplace
    for part in namespace.split(".") if namespace else ():
        module = getattr(module, part)
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    for name in names:
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            yield f"tf.{namespace}.{name}" if namespace else f"tf.{name}", value


def public_functions() -> list[Documented]:
    """What takes two parameters or more, under the first name it has."""
    found: dict[Any, Documented] = {}
    seen: set[Any] = set()
    for namespace in NAMESPACES:
        for name, value in _public(namespace):
            home = getattr(value, "__module__", None) or ""
            if not home.startswith("gpuplace") or id(value) in seen:
                continue
            seen.add(id(value))
            if inspect.isclass(value):
                entries = list(_methods(name, value))
            elif isinstance(value, FunctionType):
                entries = [Documented(name, home, _parameters(value), inspect.getdoc(value) or "")]
            else:
                continue
            for entry in entries:
                if len(entry.parameters) >= 2:
                    found.setdefault((entry.module, entry.name.rpartition(".")[2], entry.text), entry)
    return sorted(found.values(), key=lambda entry: (entry.module, entry.name))


def _is_to_come(entry: Documented) -> bool:
    return any(entry.module == place or entry.module.startswith(place + ".") for place in NOT_YET)


def shares() -> dict[str, tuple[int, int]]:
    """By folder: how many functions say what each parameter is, and how many there are."""
    result: dict[str, tuple[int, int]] = {}
    for entry in public_functions():
        folder = ".".join(entry.module.split(".")[:3])
        done, all_of_them = result.get(folder, (0, 0))
        result[folder] = done + (not entry.missing), all_of_them + 1
    return result


def test_every_parameter_is_described() -> None:
    wrong = [
        f"{entry.name} ({entry.module}): {', '.join(entry.missing)}"
        for entry in public_functions()
        if entry.missing and not _is_to_come(entry)
    ]
    assert not wrong, "Args: names not all parameters:\n" + "\n".join(wrong)


def test_no_parameter_is_described_that_there_is_none_of() -> None:
    wrong = [
        f"{entry.name}: {', '.join(sorted(extra))}"
        for entry in public_functions()
        if (extra := described(entry.text) - set(entry.parameters)) and not _is_to_come(entry)
    ]
    assert not wrong, "Args: names what is no parameter:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "text, names",
    [
        (
            "Sums.\n\nArgs:\n    x: a tensor.\n    *more, name: others.\n\nReturns:\n    y: not this.",
            "x more name",
        ),
        ("Sums.\n\nArgs:\n    x (Tensor): a tensor,\n        so: long.", "x"),
        ("Sums ``x``: a tensor.", ""),
    ],
)
def test_args_are_found(text: str, names: str) -> None:
    assert described(text) == set(names.split())


def _print() -> None:
    done = total = 0
    for folder, (here, of) in sorted(shares().items()):
        done, total = done + here, total + of
        print(f"{folder:32} {here:4} of {of:4}")
    print(f"{'all':32} {done:4} of {total:4}: {done / total:.0%}")
    for entry in public_functions():
        if entry.missing:
            print(f"  {entry.name} ({entry.module}): {', '.join(entry.missing)}")


if __name__ == "__main__":
    _print()
