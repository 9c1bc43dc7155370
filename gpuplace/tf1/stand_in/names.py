"""Makes ``import tensorflow`` import gpuplace, for scripts written for TensorFlow 1.

A finder at the head of ``sys.meta_path`` resolves ``tensorflow`` and everything below it:

- ``tensorflow`` and ``tensorflow.compat.v1`` are gpuplace itself;
- modules that scripts import from TensorFlow's internals (``tensorflow.python.client.device_lib``,
  ``tensorflow.core.framework.graph_pb2``) are the modules of ``MODULES``;
- ``tensorflow.python.framework.ops`` and similar modules contain gpuplace's public names;
- ``tensorflow.train`` and other namespaces of gpuplace are those namespaces;
- modules below a folder ``tensorflow`` beside the script, or elsewhere on the path, are imported from there
  (``tensorflow/examples/tutorials/mnist/input_data.py``), unless it is an installed TensorFlow.

Anything else raises a ``ModuleNotFoundError`` with an explanation. ``google.protobuf`` is not touched.
TensorBoard would need more of TensorFlow than gpuplace has, so it gets its own stub.
"""

from __future__ import annotations

import importlib
import importlib.util
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
from gpuplace.tf1.stand_in.absent import AbsentModule, is_absent
from gpuplace.tf1.stand_in.module_tables import (
    ALIASES,
    CONTRIB_MODULES,
    CONTRIB_PACKAGES,
    EXAMPLES,
    GENERATED,
    GPUPLACE_ITSELF,
    GRADIENTS,
    MODULES,
    NAMES,
    PACKAGES,
    PROTO_FOLDERS,
    ROOMS,
    ROOT,
    TRAINING,
)

WITHOUT_TENSORFLOW = "tensorboard.compat.notf"
"""If this module exists, TensorBoard uses its stub; source: tensorboard/compat/__init__.py."""

CHILDREN = str(Path(__file__).resolve().parent / "children")
"""A folder in which ``tensorflow`` is gpuplace, for the paths of other Python processes."""

_INSTALLED = os.path.join("python", "pywrap_tensorflow.py")
"""A file of every installed TensorFlow."""


class _Names(ModuleType):
    """A module without code: its attributes are its submodules, or names of gpuplace.

    Args:
        name: its name.
        sources: modules of gpuplace to search for its names, in this order; empty: its submodules only.
    """

    def __init__(self, name: str, sources: Sequence[str] = ()) -> None:
        super().__init__(name, f"{name}, as far as gpuplace has it.")
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._sources or f"{self.__name__}.{name}" in CONTRIB_MODULES:
            try:
                with OwnFramesHidden(ImportError):
                    return importlib.import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError as error:
                if self.__name__.startswith(EXAMPLES):
                    raise  # the message of `from ... import name` is kept
                raise AttributeError(str(error)) from None
        if GENERATED.fullmatch(f"tensorflow.python.ops.{name}"):
            return importlib.import_module(f"tensorflow.python.ops.{name}")
        name = ALIASES.get((self.__name__.removeprefix("tensorflow.python."), name), name)
        *first, last = self._sources
        for source in first:
            value = getattr(importlib.import_module(source), name, self)
            if value is not self:
                return value
        op_type = _op_type(name) if ".ops." in self.__name__ else None
        package = importlib.import_module(last)
        if op_type is not None and name not in package.__all__:
            return _generated(op_type)
        if name.endswith("_ref") and self.__name__.endswith(".dtypes"):
            return importlib.import_module("gpuplace.dtypes").as_dtype(name)
        try:
            return getattr(package, name)
        except AttributeError:
            beside = _imported_module(self.__name__, name)
            if beside is None:
                raise
            return beside


def _imported_module(module: str, name: str) -> ModuleType | None:
    """Return the module that a module of TensorFlow imports under the last part of its name, or None.

    The search covers its own package, ``framework`` and ``ops``, which most modules import.
    """
    if not module.startswith(f"{ROOT}.python."):
        return None
    for folder in (module.rpartition(".")[0], f"{ROOT}.python.framework", f"{ROOT}.python.ops"):
        fullname = f"{folder}.{name}"
        inner = fullname.removeprefix(f"{ROOT}.python.")
        if fullname in MODULES or fullname in PACKAGES or inner in NAMES or _own_module(inner):
            return importlib.import_module(fullname)
    return None


def _op_type(name: str) -> str | None:
    """Return the op whose generated function has this name, with or without a leading underscore, or None."""
    generated = importlib.import_module("gpuplace.graph.generated")
    op_type: str | None = generated.by_snake_case().get(name.removeprefix("_"))
    return op_type


def _generated(op_type: str) -> Any:
    return importlib.import_module("gpuplace.graph.generated").op_function(op_type)


class _Generated(ModuleType):
    """A module of functions that add one op each, with TensorFlow's order of arguments.

    The op's own name is the function that takes only keyword arguments.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "_op_def_lib":
            return importlib.import_module("gpuplace.tf1.stand_in.framework.op_def_library").op_def_library
        if name[:1].isupper():
            return getattr(importlib.import_module("gpuplace.api.raw_ops"), name)
        op_type = _op_type(name)
        if op_type is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _generated(op_type)


def _sources(module: str) -> list[str] | None:
    """Return where to search for the names of a module below ``tensorflow.python``, or None."""
    if module in NAMES:
        inner = NAMES[module]
    elif module.startswith(TRAINING) and module.count(".") == 1:
        last = module.removeprefix(TRAINING)
        inner = (f"ops.train.{last}", f"tf1.train.{last}", "api.training.train")
    elif GRADIENTS.fullmatch(module):
        inner = ("ops.gradients.registry",)
    else:
        return None
    own = _own_module(module)
    existing = [
        name for name in (f"gpuplace.{one}" for one in inner) if importlib.util.find_spec(name) is not None
    ]
    return [*([own] if own else []), *existing, "gpuplace"]


def _own_module(module: str) -> str | None:
    """Return the module beside this one for a module below ``tensorflow.python``, or None."""
    if f"tensorflow.python.{module.rpartition('.')[0]}" not in PACKAGES:
        return None
    name = f"gpuplace.tf1.stand_in.{module}"
    try:
        return name if importlib.util.find_spec(name) is not None else None
    except ModuleNotFoundError:  # a parent folder does not exist
        return None


def resolve(fullname: str) -> ModuleType:
    """Return the module that ``fullname``, ``tensorflow`` or a name below it, stands for.

    >>> resolve("tensorflow.python.framework.errors").__name__
    'gpuplace.errors'

    Raises:
        ModuleNotFoundError: gpuplace has no module of that name.
    """
    if fullname in GPUPLACE_ITSELF:
        return importlib.import_module("gpuplace")
    if fullname in MODULES:
        return importlib.import_module(MODULES[fullname])
    if fullname in PACKAGES:
        return _Names(fullname)
    if fullname in CONTRIB_PACKAGES:
        return _Names(fullname, [f"gpuplace.tf1.api.contrib.{CONTRIB_PACKAGES[fullname]}"])
    if fullname in CONTRIB_MODULES:
        return _Names(fullname, [CONTRIB_MODULES[fullname], "gpuplace"])
    if GENERATED.fullmatch(fullname):
        return _Generated(fullname)
    inner = fullname.removeprefix("tensorflow.python.")
    if inner != fullname:
        sources = _sources(inner)
        if sources is not None:
            return _Names(fullname, sources)
        if own := _own_module(inner):
            return importlib.import_module(own)
    parent, _, name = fullname.rpartition(".")
    if parent in PROTO_FOLDERS and name.endswith("_pb2"):
        try:
            return importlib.import_module(f"tensorboard.compat.proto.{name}")
        except ModuleNotFoundError:
            pass
    if is_absent(fullname):
        return AbsentModule(fullname)
    value: Any = importlib.import_module("gpuplace")
    for part in fullname.removeprefix("tensorflow.").removeprefix("compat.v1.").split("."):
        value = None if isinstance(value, _Names) else getattr(value, part, None)
    if isinstance(value, ModuleType):
        return value
    raise _missing(fullname)


def _missing(fullname: str) -> ModuleNotFoundError:
    folders = rf"compat\.v1|python|_api\.v1|(?:tf1\.)?api(?:\.(?:{ROOMS}))?"
    name = re.sub(rf"^(?:tensorflow|gpuplace)(?:\.(?:{folders}))*\.", "", fullname)
    above: Any = importlib.import_module("gpuplace")
    for part in name.split(".")[:-1]:
        above = vars(above).get(part)
        if not isinstance(above, ModuleType):
            break
    return ModuleNotFoundError(
        f"No module named '{ROOT}.{name}': gpuplace stands in for TensorFlow here and has no module of that name; "
        f"{sentence(name, getattr(above, '__all__', ()))}",
        name=f"{ROOT}.{name}",
    )


class _Loader(Loader):
    """Loader that substitutes the stand-in for a module that is being imported."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == WITHOUT_TENSORFLOW:
            return
        with OwnFramesHidden(ImportError):
            replacement = resolve(module.__name__)
        if not hasattr(replacement, "__path__"):  # without it nothing below the name could be imported
            replacement.__path__ = []
        sys.modules[module.__name__] = replacement


class Finder(MetaPathFinder):
    """Finder that resolves ``tensorflow`` and everything below it, before an installed TensorFlow could."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        above = fullname.rpartition(".")[0]
        if (
            above == "gpuplace" or above.startswith(("gpuplace.api.", "gpuplace.tf1.api."))
        ) and PathFinder.find_spec(fullname, path, target) is None:
            # For `from tensorflow import keras` Python searches the module's submodules.
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
            return _find_on_path(fullname) or ours
        if fullname.startswith(EXAMPLES):  # a program may have its own copy of these
            return _find_on_path(fullname) or ours
        return ours


def _find_on_path(fullname: str) -> ModuleSpec | None:
    """Return the spec of a third-party module below a folder ``tensorflow``, unless it is an installed TensorFlow."""
    parents = fullname.split(".")[1:-1]
    roots = [os.path.join(entry, ROOT) for entry in sys.path]
    folders = [
        os.path.join(root, *parents)
        for root in roots
        if os.path.isdir(root) and not os.path.exists(os.path.join(root, _INSTALLED))
    ]
    return PathFinder.find_spec(fullname, folders)


def install() -> None:
    """Put the finder before all others, here and in processes started later; further calls have no effect.

    ``__version__`` of the package becomes that of the chosen release, because scripts check it.
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
"""Attributes of the package that are replaced while it stands in for TensorFlow."""


def uninstall() -> None:
    """Remove the finder and all modules that it imported."""
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
    # An import of `tensorflow.python` makes `python` an attribute of the module for `tensorflow`.
    spaces = [
        module
        for name, module in sys.modules.items()
        if name.startswith(("gpuplace.api.", "gpuplace.tf1.api."))
    ]
    for space in (package, *spaces):
        for name, value in list(vars(space).items()):
            if isinstance(value, ModuleType) and value.__name__.startswith(ROOT + "."):
                delattr(space, name)
