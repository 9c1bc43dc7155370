"""``gpuplace run SCRIPT`` and ``gpuplace run -m MODULE``: run as Python does, with ``tensorflow`` meaning gpuplace.

The script is ``__main__``, sees its own ``sys.argv`` and can import modules from its folder. Its exit code is returned
unchanged. Its traceback starts at the script's first frame and, if a call rejected its arguments, ends at the script's
last one.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tokenize
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import TracebackType

from gpuplace.callers import RUNNER, hide_own_frames
from gpuplace.errors import OpError


def split_arguments(arguments: Sequence[str], options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of ``run`` into our part (SCRIPT and options) and the script's own arguments.

    Our options, each with a value, may come before or after SCRIPT. Everything else after SCRIPT belongs to the script,
    and so does everything after ``--``.

    >>> split_arguments(["train.py", "--steps", "5", "--machine", "cpu"], ["--machine"])
    (['train.py', '--machine', 'cpu'], ['--steps', '5'])
    >>> split_arguments(["--machine=cpu", "train.py", "--", "--machine", "x"], ["--machine"])
    (['train.py', '--machine=cpu'], ['--machine', 'x'])
    """
    ours: list[str] = []
    script: list[str] = []
    theirs: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--" and script:
            theirs += rest
            break
        if word in options:
            ours += [word, *rest[:1]]
            del rest[:1]
        elif word.partition("=")[0] in options and "=" in word:
            ours.append(word)
        elif script:
            theirs.append(word)
        elif word.startswith("-") and word not in ("-", "--"):
            ours.append(word)
        elif word == "--":
            script, theirs = rest[:1], rest[1:]
            if theirs[:1] == ["--"]:
                del theirs[0]
            break
        else:
            script = [word]
    return script + ours, theirs


def run_script(path: str, arguments: Sequence[str]) -> int:
    """Run the Python file at ``path`` with ``arguments`` in ``sys.argv``; return 1 if it raised, otherwise 0.

    Raises:
        OSError: the file cannot be read.
        SystemExit: the script exits.
    """
    with tokenize.open(path) as stream:
        source = stream.read()
    sys.argv = [path, *arguments]
    _stand_in(os.path.dirname(os.path.realpath(path)))
    return _run(source, os.path.abspath(path))


def run_module(name: str, arguments: Sequence[str]) -> int:
    """Run a module, or a package's ``__main__``, as ``python -m`` does; return 1 if it raised, otherwise 0.

    Raises:
        ModuleNotFoundError: there is no such module, or it has no source.
        SystemExit: the module exits.
    """
    sys.argv = ["-m", *arguments]
    _stand_in(os.getcwd())
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.origin is None or not spec.has_location:
        raise ModuleNotFoundError(f"No module named {name}", name=name)
    with tokenize.open(spec.origin) as stream:
        source = stream.read()
    sys.argv[0] = spec.origin
    return _run(source, spec.origin, spec)


def _stand_in(folder: str) -> None:
    """Make ``import tensorflow`` import gpuplace, and put a folder on the module path."""
    from gpuplace.tf1.stand_in import names, numpy_names  # imported before the script's folder is on the path

    if not sys.flags.safe_path:  # with -P, Python adds no script folder, and neither do we
        sys.path[0] = folder
    names.install()
    numpy_names.give_back()
    importlib.import_module(
        "urllib.request"
    )  # TensorFlow imports it, so programs that only import urllib rely on it


def _run(source: str, path: str, spec: ModuleSpec | None = None) -> int:
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __cached__=None, __builtins__=__builtins__)
    if spec is not None:
        module.__dict__.update(__spec__=spec, __loader__=spec.loader, __package__=spec.parent)
    sys.modules["__main__"] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        error.__traceback__ = script_part(error.__traceback__)
        if isinstance(error, (OpError, TypeError, ValueError)):  # other errors may be bugs in this package
            hide_own_frames(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def script_part(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without this module's frames at the top."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == RUNNER:
        traceback = traceback.tb_next
    return traceback
