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
"""Packages of which everything below is such a module, where the stand-in has nothing else for it -> the public name
whose advice the error gives.
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
"""Such modules elsewhere, in the same way."""


def _advice_of(fullname: str) -> str | None:
    """The public name whose advice an error gives; None for what is in none of these modules."""
    for known in (PACKAGES, MODULES):
        for name, public in known.items():
            if f"{fullname}.".startswith(f"{name}."):
                return public
    return None


def is_absent(fullname: str) -> bool:
    """Whether a module of TensorFlow's insides is one of these.

    Args:
        fullname: its name.
    """
    return _advice_of(fullname) is not None


class AbsentClass(type):
    """The class of what has such a name: it can be named and inherited from, and cannot be made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        path = next(one.path for one in cls.__mro__ if "path" in vars(one))  # type: ignore[attr-defined]
        with OwnFramesHidden(UnimplementedError):
            raise UnimplementedError.of(f"{path} is not available: {sentence(_advice_of(path) or path)}")

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
        path = f"{self.__name__}.{name}"
        if path.removeprefix("tensorflow.python.") in NAMES:  # one below this one, with names
            return importlib.import_module(path)
        made = absent(path)
        setattr(self, name, made)
        return made
