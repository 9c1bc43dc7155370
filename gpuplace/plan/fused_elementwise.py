"""A group of elementwise steps as one kernel, or one by one where it has to be: then errors name the step.

Groups are an experiment, ``fusion`` (``gpu_experiments``); the options by which TensorFlow's users turn off its own
fusions turn them off: ``rewrite_options.remapping`` or the whole meta optimizer, and ``global_jit_level = OFF``.

Source: tensorflow/core/protobuf/config.proto and rewriter_config.proto, release 2.21 (the options).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.callers import raise_of_signal_handler
from gpuplace.device.gpu_experiments import gpu_experiments
from gpuplace.kernels.compute import bind
from gpuplace.numerics.fused.one_kernel import OneKernel
from gpuplace.numerics.fused.recording import NotRecorded, Recorded, Recorder
from gpuplace.plan.schedule.elementwise_groups import FusedStep
from gpuplace.plan.schedule.partition import Step

_OFF_IN_REWRITER = 2
"""``RewriterConfig.OFF``."""
_OFF_FOR_JIT = -1
"""``OptimizerOptions.OFF``."""


def fusion_is_on(config: Any) -> bool:
    """Whether environment and options allow groups.

    Args:
        config: a ``ConfigProto`` or anything with its attributes; None has the defaults.
    """
    graph_options = getattr(config, "graph_options", None)
    rewriter = getattr(graph_options, "rewrite_options", None)
    optimizer = getattr(graph_options, "optimizer_options", None)
    return "fusion" in gpu_experiments() and not (
        getattr(rewriter, "remapping", 0) == _OFF_IN_REWRITER
        or getattr(rewriter, "disable_meta_optimizer", False)
        or getattr(optimizer, "global_jit_level", 0) == _OFF_FOR_JIT
    )


class FailedStep(Exception):
    """A step of a group failed; its error is the cause.

    Args:
        step: the step.
        values: what it was given.
    """

    def __init__(self, step: Step, values: Sequence[Any]) -> None:
        super().__init__(step.name)
        self.step, self.values = step, values


def fused_function(step: FusedStep, xp: Any, functions: Sequence[Callable[..., Any]]) -> OneKernel:
    """What computes a group: takes its inputs, gives its outputs, a tuple of several.

    Args:
        step: the group.
        xp: CuPy.
        functions: what computes each of its steps, in their order.
    """

    def one_by_one(*arrays: Any) -> Any:
        values = dict(zip(step.inputs, arrays, strict=True))
        for one, function in zip(step.steps, functions, strict=True):
            given = [values[slot] for slot in one.inputs]
            try:
                values[one.outputs[0]] = function(*given)
            except Exception as error:
                raise_of_signal_handler(error)
                raise FailedStep(one, given) from error
        made = tuple([values[slot] for slot in step.outputs])
        return made if len(made) > 1 else made[0]

    name = "fused_" + "_".join([one.op_type for one in step.steps])
    return OneKernel(xp, name, lambda *given: recorded(step, *given), one_by_one, step.launches)


def recorded(step: FusedStep, recorder: Recorder, inputs: Sequence[Recorded]) -> list[Recorded]:
    """The outputs of a group whose steps are written down."""
    values = dict(zip(step.inputs, inputs, strict=True))
    for one in step.steps:
        op, output = one.op, one.outputs[0]
        assert op is not None
        made = bind(op.type, "GPU", recorder, op, None, step.device)(*[values[slot] for slot in one.inputs])
        if made.dtype != output.tensor.dtype.base_dtype.numpy_dtype:
            raise NotRecorded(f"{op.type} gives {made.dtype}")
        values[output] = made
    return [values[slot] for slot in step.outputs]
