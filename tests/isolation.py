"""For every test and doctest: a process as if just started."""

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
PROCESS_VARIABLES = (
    "GPUPLACE_MACHINE",
    "GPUPLACE_RELEASE",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
)

# Machines are noisy: no example fails for being slow. The same examples in every run; new ones with
# `--hypothesis-profile explore`.
settings.register_profile("gpuplace", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("gpuplace")


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """Each test starts without a chosen machine or release and with an empty default graph."""
    kept = {name: os.environ.pop(name) for name in PROCESS_VARIABLES if name in os.environ}
    level = logging.getLogger("tensorflow").level
    main, words, folders = sys.modules["__main__"], sys.argv, sys.path.copy()
    yield
    # What a program run by `gpuplace run` in this process leaves: a process started later would begin with it.
    sys.modules["__main__"], sys.argv, sys.path[:] = main, words, folders
    for name in PROCESS_VARIABLES:  # a program that the test ran may have set it
        os.environ.pop(name, None)
    os.environ.update(kept)
    logging.getLogger("tensorflow").setLevel(level)
    names = sys.modules.get("gpuplace.tf1.stand_in.names")
    if names is not None and any(isinstance(finder, names.Finder) for finder in sys.meta_path):
        names.uninstall()
    if (process := sys.modules.get("gpuplace.runtime.memory.process_state")) is not None:
        process.use_machine(None)
        process.reset_runtime()
    if (release := sys.modules.get("gpuplace.release")) is not None:
        release.set_release(None)
    if (flow := sys.modules.get("gpuplace.ops.flow.control_flow_util")) is not None:
        flow.ENABLE_CONTROL_FLOW_V2 = False
    if (sessions := sys.modules.get("gpuplace.runtime.session.session")) is not None:
        for session in list(sessions.InteractiveSession._active):
            session.close()
    if (stacks := sys.modules.get("gpuplace.graph.stacks")) is not None:
        for stack in (stacks.graph_stack, stacks.session_stack):
            stack.reset()
            stack.enforce_nesting = True
        stacks.reset_default_graph()


@pytest.fixture(scope="session", autouse=True)
def _for_processes_of_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Processes that tests start find this package, and read and write no settings of the person who runs them."""
    home = tmp_path_factory.mktemp("home")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    os.environ["IPYTHONDIR"] = str(home / "ipython")
    os.environ["JUPYTER_CONFIG_DIR"] = str(home / "jupyter")
    os.environ["GPUPLACE_CLUSTER_TOKEN_FILE"] = str(home / "clusters" / "token")
    os.environ["GPUPLACE_COST_MODEL"] = ""  # what was calibrated on this machine is left aside
