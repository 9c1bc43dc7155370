"""Modules of TensorFlow's internals that can be imported, but whose names raise an error when they are used.

A program may import Keras for a branch that never runs. Importing such a module or inheriting from one of its
classes works; calling one of its names raises an error that says what to do instead.

>>> import types
>>> training = AbsentModule("tensorflow.python.keras.engine.training")
>>> class Net(training.Model):
...     pass
>>> Net()
Traceback (most recent call last):
gpuplace.errors.UnimplementedError: tensorflow.python.keras.engine.training.Model is not available: ...
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from gpuplace.api.missing import sentence
from gpuplace.callers import OwnFramesHidden
from gpuplace.errors import UnimplementedError
from gpuplace.tf1.stand_in.module_tables import NAMES

PACKAGES = {
    "tensorflow.python.distribute": "distribute",
    "tensorflow.python.feature_column": "feature_column",
    "tensorflow.python.grappler": "",
    "tensorflow.python.keras": "keras",
    "tensorflow.python.ops.ragged": "ragged",
    "tensorflow.python.training.experimental": "",
}
"""Packages whose modules are all absent unless the stand-in has them -> the public name whose advice the error gives.
"""

MODULES = {
    "tensorflow.contrib.all_reduce.python.all_reduce": "contrib",
    "tensorflow.contrib.image.python.ops.distort_image_ops": "contrib",
    "tensorflow.python.framework.cpp_shape_inference_pb2": "cpp_shape_inference_pb2",
    **{
        f"tensorflow.python.{module}": "enable_v2_behavior"
        for module in (
            *("eager.lift_to_graph", "eager.profiler", "eager.remote"),
            *("framework.c_api_util", "framework.convert_to_constants", "framework.op_callbacks"),
            "framework.error_interpolation",
            "ops.summary_ops_v2",
        )
    },
    **{
        f"tensorflow.python.saved_model.{module}": "saved_model.save"
        for module in ("load", "revived_types", "save")
    },
}
"""Absent modules in other packages -> the public name whose advice the error gives."""


def _advice_of(fullname: str) -> str | None:
    """Return the public name whose advice an error gives; None outside the absent modules."""
    for table in (PACKAGES, MODULES):
        for name, public in table.items():
            if f"{fullname}.".startswith(f"{name}."):
                return public
    return None


def is_absent(fullname: str) -> bool:
    """Return whether an internal module of TensorFlow is absent.

    Args:
        fullname: its full name.
    """
    return _advice_of(fullname) is not None


class AbsentClass(type):
    """Metaclass of absent names, which can be imported and inherited from, but not instantiated."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        path = next(one.path for one in cls.__mro__ if "path" in vars(one))  # type: ignore[attr-defined]
        with OwnFramesHidden(UnimplementedError):
            raise UnimplementedError.of(f"{path} is not available: {sentence(_advice_of(path) or path)}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or "path" not in vars(cls):
            raise AttributeError(name)
        return absent(f"{vars(cls)['path']}.{name}")


def absent(path: str) -> AbsentClass:
    """Return the class that stands for a name of an absent module.

    Args:
        path: the full name, including the module.
    """
    module, _, name = path.rpartition(".")
    return AbsentClass(name, (), {"path": path, "__module__": module})


class AbsentModule(ModuleType):
    """A module whose names are all absent.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{name}, which gpuplace does not have.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__name__}.{name}"
        if path.removeprefix("tensorflow.python.") in NAMES:  # a submodule, with names of its own
            return importlib.import_module(path)
        absent_class = absent(path)
        setattr(self, name, absent_class)
        return absent_class
