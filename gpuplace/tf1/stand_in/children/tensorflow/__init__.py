"""``tensorflow`` for the Python processes that a script under ``gpuplace run`` starts: gpuplace, as in the script.

The parent folder is on their path (``PYTHONPATH``, and ``sys.path`` for those of ``multiprocessing``).
TensorBoard does not get it: it uses its own stub, as in an environment without TensorFlow.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path


def _load_package() -> None:
    """Import the gpuplace that contains this file, even if it is not on this process's path."""
    if "gpuplace" not in sys.modules:
        spec = PathFinder.find_spec("gpuplace", [str(Path(__file__).resolve().parents[5])])
        assert spec is not None and spec.loader is not None
        package = sys.modules["gpuplace"] = module_from_spec(spec)
        spec.loader.exec_module(package)


def _importer() -> str:
    """Return the module whose import statement loads this one."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


if __name__ == "tensorflow":  # not if a tool imports it under another name to read it
    _load_package()
    from gpuplace.tf1.stand_in import names

    names.install()
    if _importer().partition(".")[0] == "tensorboard":
        raise ModuleNotFoundError(
            "No module named 'tensorflow': TensorBoard uses its own stub", name="tensorflow"
        )
    sys.modules["tensorflow"] = names.resolve("tensorflow")
