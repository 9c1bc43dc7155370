"""An elementwise function of many steps as one kernel of CuPy's ``ElementwiseKernel``.

When arrays of new shapes come, the function is recorded for them (see ``recording``), which also checks the shapes as
its steps would. The body and the types make the kernel; CuPy compiles it once for all that are alike::

    var - lr * grad      ==>     float v0 = __fmul_rn(x1, x2);      float32 x0, float32 x1, float32 x2 -> float32 y0
                                 float v1 = __fsub_rn(x0, v0);
                                 y0 = v1;

The function itself is called where a kernel cannot stand for it: for shapes that do not fit each other, so that it says
what is wrong; where a result is smaller than the arrays together; where a launch fails: either the function fails too,
in its own words, or the reason is kept in ``OneKernel.refused``.

Why not ``cupy.fuse``: it traces the ufuncs of a function in the same way and writes their C one after another, which
the compiler turns into fused multiply-adds, so that ``x * y + z`` is not what two kernels give (CuPy 14.2 takes no
compiler options there). Its arrays have no shapes either, at which the kernels of biases, selections and sums look.

Source: CuPy 14.2, cupy/_core/_kernel.pyx and fusion.pyx.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.callers import raise_of_signal_handler
from gpuplace.errors import OpError
from gpuplace.numerics.fused.cuda_text import PREAMBLE
from gpuplace.numerics.fused.recording import NotRecorded, Recorded, Recorder

Record = Callable[[Recorder, Sequence[Recorded]], Sequence[Recorded]]
"""``(recorder, inputs)`` to the results."""

MAX_NAME = 100
"""Characters of a kernel's name."""
MAX_SHAPES = 64
"""Combinations of shapes for which kernels are kept."""

_PARAMETER = re.compile(r"\bx\d+(?:_\d+)?\b")


class KernelText(NamedTuple):
    """What a kernel is made of."""

    parameters: str
    """Types and names of what it takes."""
    results: str
    """Types and names of what it makes."""
    body: str
    """What it does for one element."""
    given: tuple[tuple[int, tuple[int, ...] | None], ...]
    """For each parameter the position of the array among the inputs, and the shape it has to get."""


def kernel_text(record: Record, inputs: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]) -> KernelText:
    """The kernel of a function.

    Args:
        record: the function.
        inputs: type and shape of each.

    Raises:
        NotRecorded: no kernel can stand for it.
        ValueError: the shapes do not broadcast.
        OpError: the function refuses the shapes.
    """
    recorder = Recorder()
    given = [
        recorder.given(f"x{number}", dtype, shape, number) for number, (dtype, shape) in enumerate(inputs)
    ]
    made = record(recorder, given)
    body = "\n".join([*recorder.lines, *(f"y{number} = {value.text};" for number, value in enumerate(made))])
    parameters: list[str] = []
    taken: list[tuple[int, tuple[int, ...] | None]] = []
    whole: tuple[int, ...] = ()
    for name in sorted(set(_PARAMETER.findall(body)), key=_position):
        position, number = _position(name)
        view = recorder.reshaped[position][number] if number >= 0 else None
        parameters.append(f"{given[position].dtype} {name}")
        taken.append((position, view))
        whole = np.broadcast_shapes(whole, given[position].shape if view is None else view)
    if any(value.shape != whole for value in made):
        raise NotRecorded("results of several shapes")
    results = ", ".join(f"{value.dtype} y{number}" for number, value in enumerate(made))
    return KernelText(", ".join(parameters), results, body, tuple(taken))


def _position(name: str) -> tuple[int, int]:
    """The position of the input that a parameter is, and which of its other shapes, -1 for its own."""
    position, _, view = name[1:].partition("_")
    return int(position), int(view) if view else -1


class OneKernel:
    """Calls a function as one kernel.

    Args:
        xp: CuPy.
        name: of the kernel, for profilers.
        record: the function, to be recorded.
        plain: the function, to be called; gives one result, or a tuple.
        launches: where kernels are kept, by the shapes of the inputs; shared by functions that are the same.
    """

    def __init__(
        self,
        xp: Any,
        name: str,
        record: Record,
        plain: Callable[..., Any],
        launches: dict[Any, Callable[..., Any] | None] | None = None,
    ) -> None:
        self._xp, self._name, self._record, self._plain = xp, name[:MAX_NAME], record, plain
        self._launches = {} if launches is None else launches
        self.refused = ""
        """Why a launch failed last, where the function did not."""

    def __call__(self, *arrays: Any) -> Any:
        """The results: one, or a tuple."""
        launches = self._launches
        shapes = tuple([array.shape for array in arrays])
        if shapes not in launches:
            if len(launches) >= MAX_SHAPES:
                launches.clear()
            launches[shapes] = self._launch_for(arrays)
        launch = launches[shapes]
        if launch is None:
            return self._plain(*arrays)
        try:
            return launch(*arrays)
        except Exception as error:
            raise_of_signal_handler(error)
            made = self._plain(*arrays)  # raises what is wrong with a step
            if not isinstance(error, MemoryError):  # another time there may be enough
                launches[shapes] = None
                self.refused = f"{type(error).__name__}: {error}"
            return made

    def _launch_for(self, arrays: Sequence[Any]) -> Callable[..., Any] | None:
        """Launches the kernel for arrays of these shapes; None if the function has to be called."""
        try:
            text = kernel_text(self._record, [(array.dtype, array.shape) for array in arrays])
        except (NotRecorded, ValueError, OpError):
            return None
        kernel: Callable[..., Any] = self._xp.ElementwiseKernel(
            text.parameters, text.results, text.body, name=self._name, preamble=PREAMBLE
        )
        if text.given == tuple((position, None) for position in range(len(arrays))):
            return kernel

        def launch(*arrays: Any) -> Any:
            given = [
                arrays[position] if shape is None else arrays[position].reshape(shape)
                for position, shape in text.given
            ]
            return kernel(*given)

        return launch
