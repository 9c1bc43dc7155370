"""Modules of TensorFlow's insides that load here, but whose names do nothing but say so.

A program may import Keras for one of its ways and never go it: the import is no error, nor is a class that is written
below a class of it. Calling one of the names is, with words about what to do.

>>> import types
>>> training = AbsentModule("tensorflow.python.keras.engine.training")
>>> class Net(training.Model):
...     pass
>>> Net()
Traceback (most recent call last):
gpuplace.errors.UnimplementedError: tensorflow.python.keras.engine.training.Model is not available: ...
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gpuplace.api.missing import sentence
from gpuplace.callers import OwnFramesHidden
from gpuplace.errors import UnimplementedError

_EAGER = "tensorflow.python.eager"

PACKAGES = (
    "tensorflow.python.distribute",
    "tensorflow.python.feature_column",
    "tensorflow.python.grappler",
    "tensorflow.python.keras",
    "tensorflow.python.module",
    "tensorflow.python.ops.ragged",
    "tensorflow.python.training.experimental",
    "tensorflow.python.training.tracking",
)
"""Packages of which everything below is such a module, where the stand-in has nothing else for it."""

MODULES = {
    *(
        f"{_EAGER}.{module}"
        for module in ("execution_callbacks", "lift_to_graph", "profiler", "remote", "wrap_function")
    ),
    *(
        f"tensorflow.python.framework.{module}"
        for module in (
            *("auto_control_deps", "config", "convert_to_constants", "function_def_to_graph", "op_callbacks"),
        )
    ),
    *(
        f"tensorflow.python.ops.{module}"
        for module in ("cond_v2", "control_flow_util_v2", "summary_ops_v2", "while_v2")
    ),
    *(
        f"tensorflow.python.saved_model.{module}"
        for module in ("load", "nested_structure_coder", "revived_types", "save")
    ),
}
"""Such modules elsewhere."""


def is_absent(fullname: str) -> bool:
    """Whether a module of TensorFlow's insides is one of these.

    Args:
        fullname: its name.
    """
    return fullname in MODULES or any(
        fullname == package or fullname.startswith(f"{package}.") for package in PACKAGES
    )


class AbsentClass(type):
    """The class of what has such a name: it can be named and inherited from, and cannot be made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        path = next(one.path for one in cls.__mro__ if "path" in vars(one))  # type: ignore[attr-defined]
        public = path.removeprefix("tensorflow.python.")
        with OwnFramesHidden(UnimplementedError):
            raise UnimplementedError.of(f"{path} is not available: {sentence(public)}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or "path" not in vars(cls):
            raise AttributeError(name)
        return absent(f"{vars(cls)['path']}.{name}")


def absent(path: str) -> AbsentClass:
    """What stands for a name of such a module.

    Args:
        path: the module's name and it.
    """
    module, _, name = path.rpartition(".")
    return AbsentClass(name, (), {"path": path, "__module__": module})


class AbsentModule(ModuleType):
    """A module whose names are all such classes.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{name}, which gpuplace does not have.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = absent(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made
