"""Markers for what a machine may lack; `tests/isolation.py` gives every test and doctest a fresh process state.

Options:
    --require NAMES: comma-separated markers (`dot`, `notebook`, `browser`, `gpu`, `oracle`) whose tests fail
        instead of being skipped where their program is missing.
"""

import importlib.util
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import isolation
from tests.browser.jupyterlab import CHROMIUM_NAMES
from tests.stand_ins import fixtures

TESTS = Path(__file__).resolve().parent
LONGEST_FIRST = (
    "tests/browser/",
    "tests/why/",
    "tests/cli/",
    "tests/notebooks/",
    "tests/soak/",
    "tests/scenarios/",
    "tests/project/",
    "tests/",
)
"""Where the modules are that take longest. Two processes that share the tests begin with them, so that both end
together: what comes last, the doctests, are many small things."""


def _lacks_gpu() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA: {error}"
    return None if count else "there is no GPU"


def _lacks_modules(*names: str) -> str | None:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


def _lacks_browser() -> str | None:
    if not any(shutil.which(name) for name in CHROMIUM_NAMES):
        return "Chromium is not installed"
    return _lacks_modules("playwright", "jupyterlab")


LACKS: dict[str, Callable[[], str | None]] = {
    "gpu": _lacks_gpu,
    "dot": lambda: None if shutil.which("dot") else "Graphviz's `dot` is not installed",
    "notebook": lambda: _lacks_modules("nbclient", "nbformat", "ipykernel"),
    "browser": _lacks_browser,
    "oracle": lambda: _lacks_modules("tensorflow"),
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Below tests/, doctests are looked for in test files alone: the others are helpers and scripts."""
    if collection_path.suffix == ".py" and TESTS in collection_path.parents:
        return None if collection_path.name.startswith(("test_", "conftest")) else True
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require",
        default="",
        metavar="NAMES",
        help="markers whose tests may not be skipped",
    )


def _place_in_line(item: pytest.Item) -> int:
    places = (place for place, start in enumerate(LONGEST_FIRST) if item.nodeid.startswith(start))
    return next(places, len(LONGEST_FIRST))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    required = {name for name in config.getoption("--require").split(",") if name}
    if unknown := required - set(LACKS):
        raise pytest.UsageError(f"--require: no marker {sorted(unknown)}; there are {sorted(LACKS)}")
    if hasattr(config, "workerinput"):  # of pytest-xdist
        items.sort(key=_place_in_line)
    reasons: dict[str, str | None] = {}
    for item in items:
        for name in LACKS:
            if name in item.keywords and item.get_closest_marker(name):
                if name not in reasons:
                    reasons[name] = LACKS[name]()
                if (reason := reasons[name]) is not None:
                    if name in required:
                        raise pytest.UsageError(f"--require {name}: {reason}")
                    item.add_marker(pytest.mark.skip(reason=reason))


def pytest_configure(config: pytest.Config) -> None:
    """The fixtures of `isolation` are for the package's doctests too, which this file is not above.

    A shell that starts the tests in the background makes them ignore interrupts, and with them every program that
    they start; several tests wait for one that an interrupt ends.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(isolation, "gpuplace-isolation")
    config.pluginmanager.register(fixtures, "gpuplace-stand-ins")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are numbered: messages with maps differ from process to process, and names of tests may not."""
    return argname if isinstance(val, bytes) else None
