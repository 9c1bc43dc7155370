"""Programs as a person writes them: executed with `tf`, their standard output captured and taken apart."""

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import gpuplace as tf

LOCAL = "/job:localhost/replica:0/task:0"
_MAPPING_LINE = re.compile(r"^(/job:\S+) -> (device: .*)$")
_PLACEMENT_LINE = re.compile(r"^([^\s:][^:]*): (?:\((\w+)\): )?(/job:\S+)$")


@dataclass
class Run:
    """What a program printed."""

    text: str
    names: dict = field(repr=False)
    """The program's variables."""

    @property
    def mapping(self) -> list[str]:
        """The lines below "Device mapping:"."""
        return [line for line in self.text.splitlines() if _MAPPING_LINE.match(line)]

    @property
    def placement(self) -> list[str]:
        """The lines that say where a node went, in the order printed."""
        return [line for line in self.text.splitlines() if _PLACEMENT_LINE.match(line)]

    @property
    def numbers(self) -> np.ndarray:
        """The array that the program printed after the log."""
        rows = [line for line in self.text.splitlines() if re.match(r"^\s*\[", line)]
        return np.array([[float(number) for number in re.findall(r"[-+.\de]+", row)] for row in rows])


@pytest.fixture
def run_program(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """`run_program(source, machine=, release=)` executes a program whose only import is gpuplace as `tf`."""

    def run(source: str, machine: str | None = None, release: str | None = None) -> Run:
        if release is not None:
            tf.set_release(release)
        if machine is not None:
            tf.use_machine(machine)
        capsys.readouterr()
        names: dict = {"__name__": "__main__", "tf": tf}
        exec(compile(textwrap.dedent(source), "program.py", "exec"), names)
        return Run(capsys.readouterr().out, names)

    return run
