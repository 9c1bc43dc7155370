"""The command line as a person uses it: a process of its own, and what it printed."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.command_server import CommandServer

GRAPH = """
    node {
      name: "a" op: "Const" device: "/device:GPU:1"
      attr { key: "dtype" value { type: DT_FLOAT } }
      attr {
        key: "value"
        value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 2 } } float_val: 1 } }
      }
    }
    node {
      name: "b" op: "Const"
      attr { key: "dtype" value { type: DT_FLOAT } }
      attr {
        key: "value"
        value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 2 } } float_val: 2 } }
      }
    }
    node {
      name: "product" op: "MatMul" input: "a" input: "b"
      attr { key: "T" value { type: DT_FLOAT } }
      attr { key: "transpose_a" value { b: false } }
      attr { key: "transpose_b" value { b: false } }
    }
"""


@pytest.fixture(scope="session")
def server() -> Iterator[CommandServer]:
    """What runs commands without importing the package for each."""
    server = CommandServer()
    yield server
    server.close()


@pytest.fixture
def gpuplace(tmp_path: Path, server: CommandServer) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`gpuplace(*words, **environment)` runs the command in an empty folder; scripts in an interpreter of their own."""

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        if words[:1] != ("run",):
            return server.run([os.fspath(word) for word in words], tmp_path, os.environ | environment)
        return subprocess.run(
            [sys.executable, "-m", "gpuplace", *words],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """`script(source)` writes a Python file into the command's folder and returns its name."""

    def write(source: str, name: str = "script.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return name

    return write


@pytest.fixture
def graph(tmp_path: Path) -> str:
    """The name of a text GraphDef: two constants, one asked onto the second GPU, and their product."""
    (tmp_path / "graph.pbtxt").write_text(GRAPH, encoding="utf-8")
    return "graph.pbtxt"
