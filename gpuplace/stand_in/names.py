"""Makes ``import tensorflow`` mean gpuplace, for scripts written for TensorFlow 1.

A finder at the head of ``sys.meta_path`` answers for ``tensorflow`` and everything below it:

- ``tensorflow`` and ``tensorflow.compat.v1`` are gpuplace itself;
- modules that scripts import from TensorFlow's insides (``tensorflow.python.client.device_lib``,
  ``tensorflow.core.framework.graph_pb2``) are the modules of ``MODULES``;
- ``tensorflow.python.framework.ops`` and its like are modules that hold gpuplace's public names;
- ``tensorflow.train`` and other namespaces of gpuplace are those namespaces;
- what lies below a folder ``tensorflow`` beside the script, or elsewhere on the path, is found there
  (``tensorflow/examples/tutorials/mnist/input_data.py``), unless it is an installed TensorFlow.

Anything else is a ``ModuleNotFoundError`` that says so. ``google.protobuf`` is not touched. TensorBoard is told to go
without TensorFlow, of which it would need more than gpuplace has: it has a stub of what it needs.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from gpuplace.api.missing import sentence
from gpuplace.callers import OwnFramesHidden

ROOT = "tensorflow"

WITHOUT_TENSORFLOW = "tensorboard.compat.notf"
"""Where this module exists, TensorBoard uses its stub; source: tensorboard/compat/__init__.py."""

CHILDREN = str(Path(__file__).resolve().parent / "children")
"""A folder whose ``tensorflow`` is gpuplace, for the paths of other Python processes."""

_INSTALLED = os.path.join("python", "pywrap_tensorflow.py")
"""A file that every TensorFlow has."""

GPUPLACE_ITSELF = {"tensorflow", "tensorflow.compat.v1", "tensorflow._api.v1.v1"}
"""Names that are gpuplace itself."""

MODULES = {
    "tensorflow.python.client.device_lib": "gpuplace.session.device_lib",
    "tensorflow.python.client.timeline": "gpuplace.tracing.chrome_timeline",
    "tensorflow.python.framework.errors": "gpuplace.errors",
    "tensorflow.python.framework.errors_impl": "gpuplace.errors",
    "tensorflow.python.framework.dtypes": "gpuplace.dtypes",
    "tensorflow.python.framework.tensor_shape": "gpuplace.shapes",
    "tensorflow.python.framework.device": "gpuplace.device.spec",
    "tensorflow.python.framework.device_spec": "gpuplace.device.spec",
}
"""TensorFlow's module -> the module of gpuplace that holds the same names."""

PUBLIC_NAMES = {
    f"tensorflow.python.{module}"
    for module in (
        "client.session",
        "framework.constant_op",
        "framework.importer",
        "framework.ops",
        "framework.random_seed",
        "framework.tensor_util",
        "ops.array_ops",
        "ops.control_flow_ops",
        "ops.gradients",
        "ops.init_ops",
        "ops.math_ops",
        "ops.nn",
        "ops.nn_ops",
        "ops.random_ops",
        "ops.state_ops",
        "ops.variable_scope",
        "ops.variables",
    )
}
"""Modules of TensorFlow whose names gpuplace has at its top."""

PROTO_FOLDERS = {"tensorflow.core.framework", "tensorflow.core.protobuf", "tensorflow.core.util"}
"""Packages of generated messages: their modules are those of ``tensorboard.compat.proto``."""

PACKAGES = {
    "tensorflow.core",
    "tensorflow.python",
    "tensorflow.python.client",
    "tensorflow.python.framework",
    "tensorflow.python.ops",
    *PROTO_FOLDERS,
}
"""Packages that only hold modules."""


class _Names(ModuleType):
    """A module without code of its own: attributes are modules below it, or gpuplace's public names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__ in PACKAGES:
            try:
                return importlib.import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError as error:
                raise AttributeError(str(error)) from None
        return getattr(importlib.import_module("gpuplace"), name)


def resolve(fullname: str) -> ModuleType:
    """The module that ``fullname``, ``tensorflow`` or something below it, stands for.

    >>> resolve("tensorflow.python.framework.errors").__name__
    'gpuplace.errors'

    Raises:
        ModuleNotFoundError: gpuplace has nothing of that name.
    """
    if fullname in GPUPLACE_ITSELF:
        return importlib.import_module("gpuplace")
    if fullname in MODULES:
        return importlib.import_module(MODULES[fullname])
    if fullname in PUBLIC_NAMES or fullname in PACKAGES:
        module = _Names(fullname, f"{fullname}, as far as gpuplace has it.")
        return module
    parent, _, name = fullname.rpartition(".")
    if parent in PROTO_FOLDERS and name.endswith("_pb2"):
        try:
            return importlib.import_module(f"tensorboard.compat.proto.{name}")
        except ModuleNotFoundError:
            pass
    value: Any = importlib.import_module("gpuplace")
    for part in fullname.removeprefix("tensorflow.").removeprefix("compat.v1.").split("."):
        value = None if isinstance(value, _Names) else getattr(value, part, None)
    if isinstance(value, ModuleType):
        return value
    raise _missing(fullname)


def _missing(fullname: str) -> ModuleNotFoundError:
    name = re.sub(r"^(?:tensorflow|gpuplace)(?:\.(?:compat\.v1|python|_api\.v1|api))*\.", "", fullname)
    gpuplace = importlib.import_module("gpuplace")
    return ModuleNotFoundError(
        f"No module named {fullname!r}: gpuplace stands in for TensorFlow here and has nothing of that name; "
        f"{sentence(name, gpuplace.__all__)}",
        name=f"{ROOT}.{name}",
    )


class _Loader(Loader):
    """Puts the module that a name stands for in the place of the one that is being imported."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == WITHOUT_TENSORFLOW:
            return
        with OwnFramesHidden(ImportError):
            found = resolve(module.__name__)
        if not hasattr(found, "__path__"):  # without it nothing below the name could be imported
            found.__path__ = []
        sys.modules[module.__name__] = found


class Finder(MetaPathFinder):
    """Answers for ``tensorflow`` and all below it, before an installed TensorFlow could."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        above = fullname.rpartition(".")[0]
        if (
            above in ("gpuplace", "gpuplace.api.contrib")
            and PathFinder.find_spec(fullname, path, target) is None
        ):
            # For `from tensorflow import keras` Python looks below the module.
            with OwnFramesHidden(ImportError):
                raise _missing(fullname)
        ours = ModuleSpec(fullname, _Loader(), origin="gpuplace", is_package=True)
        if fullname in (ROOT, WITHOUT_TENSORFLOW):
            return ours
        if not fullname.startswith(ROOT + "."):
            return None
        try:
            resolve(fullname)
        except ModuleNotFoundError:
            return _on_the_path(fullname) or ours
        return ours


def _on_the_path(fullname: str) -> ModuleSpec | None:
    """A module of somebody else's below a folder ``tensorflow``; that of an installed TensorFlow is not looked into."""
    parents = fullname.split(".")[1:-1]
    roots = [os.path.join(entry, ROOT) for entry in sys.path]
    folders = [
        os.path.join(root, *parents)
        for root in roots
        if os.path.isdir(root) and not os.path.exists(os.path.join(root, _INSTALLED))
    ]
    return PathFinder.find_spec(fullname, folders)


def install() -> None:
    """Puts the finder in front of all others, here and in processes started from now on; again, it changes nothing.

    ``__version__`` of the package becomes that of the release chosen, as scripts ask for it.
    """
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, Finder())
    if CHILDREN not in sys.path:
        sys.path.insert(1, CHILDREN)
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if CHILDREN not in entries:
        os.environ["PYTHONPATH"] = os.pathsep.join([CHILDREN, *entries])
    package = importlib.import_module("gpuplace")
    _kept.setdefault("__version__", package.__dict__.pop("__version__"))


_kept: dict[str, Any] = {}
"""What the package has of its own while it stands in for TensorFlow."""


def uninstall() -> None:
    """Takes the finder and everything it brought in away again."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    for name in [name for name in sys.modules if name == ROOT or name.startswith(ROOT + ".")]:
        del sys.modules[name]
    sys.modules.pop(WITHOUT_TENSORFLOW, None)
    sys.path[:] = [entry for entry in sys.path if entry != CHILDREN]
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in entries if entry != CHILDREN)
    if not os.environ["PYTHONPATH"]:
        del os.environ["PYTHONPATH"]
    package = importlib.import_module("gpuplace")
    package.__dict__.update(_kept)
    # An import of `tensorflow.python` makes `python` an attribute of what stands for `tensorflow`.
    for name, value in list(vars(package).items()):
        if isinstance(value, ModuleType) and value.__name__.startswith(ROOT + "."):
            delattr(package, name)
