"""A group of elementwise steps as one kernel of CuPy's ``ElementwiseKernel``.

When arrays of new shapes come, the kernels of the group are recorded for them (see ``recording``), which also checks
the shapes as the kernels would. CuPy compiles it once for groups that are alike, in any plan::

    schedule    x, w -> Mul ─> Add(c) ─> Relu        layers of one kind, shapes of any size
    kernel      float v0 = __fmul_rn(x0, x1);        float32 x0, float32 x1, float32 x2 -> float32 y0
                float v1 = __fadd_rn(v0, x2);
                ...
                y0 = v2;

The steps run one by one where a kernel cannot stand for them: for shapes that do not fit each other, so that the error
names the step; where a value that others need is smaller than the result; where a launch fails, because then one of
the steps fails in its own name, or it does not, and the reason is kept in ``Fused.refused``.

Why not ``cupy.fuse``: it traces the ufuncs of a function in the same way and writes their C behind each other, which
the compiler turns into fused multiply-adds, so that ``x * y + z`` is not what two kernels give (CuPy 14.2 takes no
compiler options there). Its arrays have no shapes either, at which kernels of biases, selections and sums look.

``GPUPLACE_FUSION=0`` turns groups off, and so do the options by which TensorFlow's users turn off its own:
``rewrite_options.remapping`` or the whole meta optimizer, and ``global_jit_level = OFF``.

Source: CuPy 14.2, cupy/_core/_kernel.pyx and fusion.pyx; tensorflow/core/protobuf/config.proto and
rewriter_config.proto, release 2.21 (the options).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.errors import OpError
from gpuplace.kernels.compute import bind
from gpuplace.kernels.cuda_text import PREAMBLE
from gpuplace.kernels.recording import NotRecorded, Recorded, Recorder
from gpuplace.runtime.elementwise_groups import FusedStep
from gpuplace.runtime.partition import Slot, Step

__all__ = ["FailedMember", "Fused", "KernelText", "fusion_is_on", "kernel_text"]

_OFF_IN_REWRITER = 2
"""``RewriterConfig.OFF``."""
_OFF_FOR_JIT = -1
"""``OptimizerOptions.OFF``."""

MAX_NAME = 100
"""Characters of a kernel's name."""
MAX_SHAPES = 64
"""Combinations of shapes for which a group's kernel is kept."""

_PARAMETER = re.compile(r"\bx\d+(?:_\d+)?\b")


def fusion_is_on(config: Any) -> bool:
    """Whether environment and options allow groups.

    Args:
        config: a ``ConfigProto`` or anything with its attributes; None has the defaults.
    """
    if os.environ.get("GPUPLACE_FUSION", "1") in ("0", "false"):
        return False
    graph_options = getattr(config, "graph_options", None)
    rewriter = getattr(graph_options, "rewrite_options", None)
    optimizer = getattr(graph_options, "optimizer_options", None)
    return not (
        getattr(rewriter, "remapping", 0) == _OFF_IN_REWRITER
        or getattr(rewriter, "disable_meta_optimizer", False)
        or getattr(optimizer, "global_jit_level", 0) == _OFF_FOR_JIT
    )


class FailedMember(Exception):
    """A step of a group failed; its error is the cause.

    Args:
        step: the step.
        values: what it was given.
    """

    def __init__(self, step: Step, values: Sequence[Any]) -> None:
        super().__init__(step.name)
        self.step, self.values = step, values


class KernelText(NamedTuple):
    """What a kernel is made of."""

    parameters: str
    """Types and names of what it takes."""
    results: str
    """Types and names of what it makes."""
    body: str
    """What it does for one element."""
    given: tuple[tuple[int, tuple[int, ...] | None], ...]
    """For each parameter the position of the array among the inputs of the group, and the shape it has to get."""


def kernel_text(step: FusedStep, shapes: Sequence[tuple[int, ...]]) -> KernelText:
    """The kernel of a group for inputs of some shapes.

    Raises:
        NotRecorded: no kernel can stand for the steps.
        ValueError: the shapes do not broadcast.
        OpError: a step refuses the shapes.
    """
    recorder = Recorder()
    values: dict[Slot, Recorded] = {}
    for position, (slot, shape) in enumerate(zip(step.inputs, shapes, strict=True)):
        dtype = slot.tensor.dtype.base_dtype.numpy_dtype
        values[slot] = recorder.given(f"x{position}", dtype, shape, position)
    for member in step.members:
        op = member.op
        assert op is not None
        made = bind(op.type, "GPU", recorder, op, None, step.device)(
            *[values[slot] for slot in member.inputs]
        )
        if made.dtype != member.outputs[0].tensor.dtype.base_dtype.numpy_dtype:
            raise NotRecorded(f"{op.type} gives {made.dtype}")
        values[member.outputs[0]] = made
    lines = recorder.lines + [f"y{number} = {values[slot].text};" for number, slot in enumerate(step.outputs)]
    body = "\n".join(lines)
    parameters: list[str] = []
    given: list[tuple[int, tuple[int, ...] | None]] = []
    whole: tuple[int, ...] = ()
    for name in sorted(set(_PARAMETER.findall(body)), key=_position):
        position, number = _position(name)
        view = recorder.reshaped[position][number] if number >= 0 else None
        parameters.append(f"{values[step.inputs[position]].dtype} {name}")
        given.append((position, view))
        whole = np.broadcast_shapes(whole, shapes[position] if view is None else view)
    if any(values[slot].shape != whole for slot in step.outputs):
        raise NotRecorded("values of several shapes are needed")
    results = ", ".join(f"{values[slot].dtype} y{number}" for number, slot in enumerate(step.outputs))
    return KernelText(", ".join(parameters), results, body, tuple(given))


def _position(name: str) -> tuple[int, int]:
    """The position of the input that a parameter is, and which of its other shapes, -1 for its own."""
    position, _, view = name[1:].partition("_")
    return int(position), int(view) if view else -1


class Fused:
    """Computes a group.

    Args:
        step: the group.
        xp: CuPy.
        functions: what computes each of its steps, in their order.
    """

    def __init__(self, step: FusedStep, xp: Any, functions: Sequence[Callable[..., Any]]) -> None:
        self._step, self._xp = step, xp
        self._functions = functions
        self.refused = ""
        """Why a launch failed last, where the steps did not."""

    def __call__(self, *arrays: Any) -> Any:
        """The group's outputs, a tuple of several."""
        launches = self._step.launches
        shapes = tuple([array.shape for array in arrays])
        if shapes not in launches:
            if len(launches) >= MAX_SHAPES:
                launches.clear()
            launches[shapes] = self._launch_for(shapes)
        launch = launches[shapes]
        if launch is None:
            return self._one_by_one(arrays)
        try:
            return launch(*arrays)
        except Exception as error:
            made = self._one_by_one(arrays)  # raises what is wrong with a step
            if not isinstance(error, MemoryError):  # the steps need no more at a time than there is
                launches[shapes] = None
                self.refused = f"{type(error).__name__}: {error}"
            return made

    def _launch_for(self, shapes: Sequence[tuple[int, ...]]) -> Callable[..., Any] | None:
        """Launches the kernel for inputs of these shapes; None where the steps have to run one by one."""
        try:
            text = kernel_text(self._step, shapes)
        except (NotRecorded, ValueError, OpError):
            return None
        types = "_".join(member.op_type for member in self._step.members)
        kernel: Callable[..., Any] = self._xp.ElementwiseKernel(
            text.parameters, text.results, text.body, name=f"fused_{types}"[:MAX_NAME], preamble=PREAMBLE
        )
        if text.given == tuple((position, None) for position in range(len(shapes))):
            return kernel

        def launch(*arrays: Any) -> Any:
            given = [
                arrays[position] if shape is None else arrays[position].reshape(shape)
                for position, shape in text.given
            ]
            return kernel(*given)

        return launch

    def _one_by_one(self, arrays: Sequence[Any]) -> Any:
        step = self._step
        values = dict(zip(step.inputs, arrays, strict=True))
        for member, function in zip(step.members, self._functions, strict=True):
            given = [values[slot] for slot in member.inputs]
            try:
                values[member.outputs[0]] = function(*given)
            except Exception as error:
                raise FailedMember(member, given) from error
        made = tuple([values[slot] for slot in step.outputs])
        return made if len(made) > 1 else made[0]
