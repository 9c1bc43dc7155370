"""`tensorflow` in the Python processes that a script under ``gpuplace run`` starts: gpuplace, as in the script itself.

The folder above this one is on their path (``PYTHONPATH``, and ``sys.path`` for those of `multiprocessing`).
TensorBoard goes without TensorFlow: it gets its own stub, as in an environment where there is none.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path


def _load_package() -> None:
    """Imports the gpuplace that this file is of, whether or not it is on this process's path."""
    if "gpuplace" not in sys.modules:
        spec = PathFinder.find_spec("gpuplace", [str(Path(__file__).resolve().parents[5])])
        assert spec is not None and spec.loader is not None
        package = sys.modules["gpuplace"] = module_from_spec(spec)
        spec.loader.exec_module(package)


def _asked_by() -> str:
    """The module whose import statement brought us here."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


if __name__ == "tensorflow":  # not where tools import it under another name to read it
    _load_package()
    from gpuplace.tf1.stand_in import names

    names.install()
    if _asked_by().partition(".")[0] == "tensorboard":
        raise ModuleNotFoundError(
            "No module named 'tensorflow': TensorBoard has a stub of its own", name="tensorflow"
        )
    sys.modules["tensorflow"] = names.resolve("tensorflow")
