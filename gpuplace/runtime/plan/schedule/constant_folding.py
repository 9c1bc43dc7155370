"""Constant folding: operations that can be computed once are computed when a plan is compiled.

An operation whose inputs are constants, and whose result is the same in every step, becomes a constant itself, in the
memory of its device. Operations that only it needed are pruned::

    a --> MatMul --> Add --> Mul --> fetch              Add (a constant) --> Mul --> fetch
    b ----^          ^       ^            ==>                                ^
    c ---------------+       x (fed)                                         x (fed)

TensorFlow does this in two places, both by default: Grappler (``rewrite_options.constant_folding``) keeps the node's
name, and the runtime (``optimizer_options.opt_level``) gives it a new one. Every node runs only if both are
switched off. Placement logs are written before folding and list all nodes.

Never folded: stateful and random ops, variables, queues and other resources, conditionals, feeds, ops that fail (so
that they fail when they run, with the node's name), large results, and expensive nodes. The latter stay visible in
traces, unlike in TensorFlow.

>>> from gpuplace.graph.convert import convert_to_tensor
>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.kernels.resources import SessionResources
>>> import gpuplace.ops
>>> with Graph().as_default():
...     sum = apply_op("Add", x=convert_to_tensor(1.0), y=convert_to_tensor(2.0))
>>> operations = [*(tensor.op for tensor in sum.inputs), sum]
>>> kept, folded = Folder(None, SessionResources()).fold(operations, sum.outputs, [], set())
>>> [op.name for op in kept], folded[sum][0].value
(['Add'], array(3., dtype=float32))

Source: tensorflow/core/common_runtime/constant_folding.cc and core/grappler/optimizers/constant_folding.cc,
releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpuplace.callers import raise_of_signal_handler
from gpuplace.dtypes import DType, as_dtype, string
from gpuplace.graph.attr_value import TensorValue
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_sets import CONTROL_FLOW_OPS, PLACEHOLDERS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import bind, find_compute, traits_of
from gpuplace.numerics.float_state import as_kernels_do
from gpuplace.runtime.plan.schedule.costs import BYTES_PER_US, operation_cost_us, tensor_nbytes
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ConfigProto

MAX_FOLDED_BYTES = 100 << 10
"""Results larger than this, and than their inputs, are not folded: Grappler's ``kMaxConstantSize``.

A folded value stays in the device's memory in addition to the variable that it initializes.
"""
MAX_COST_US = 500.0
"""Nodes that take longer than this, in microseconds, are not folded."""
MIN_GRAPPLER_NODES = 4
"""Number of nodes below which Grappler leaves a graph unchanged."""

_NEVER = CONTROL_FLOW_OPS | PLACEHOLDERS | {"PlaceholderWithDefault"}
"""Stateless ops whose results differ between steps, or are not always alive."""
_FUNCTION_TYPES = ("func", "list(func)")
_OFF = 2
"""``RewriterConfig.OFF``."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A constant that replaces an output of an operation."""

    output: int
    """Number of the output."""
    value: Any
    """The array, in host memory."""
    controls: tuple[Operation, ...]
    """Operations that still have to run before: control inputs of the operation, and of its inputs."""
    name: str
    """Name of the constant."""

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the constant."""
        dtype = as_dtype(self.value.dtype)
        return {"dtype": dtype, "value": TensorValue(dtype, TensorShape(self.value.shape), self.value)}


class _Constant(NamedTuple):
    """Facts about a constant operation."""

    values: tuple[Any, ...]
    """Its outputs; empty for a ``Const``, whose attribute has the value."""
    controls: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class FoldingOptions:
    """Which of TensorFlow's two foldings are enabled."""

    grappler: bool = True
    """Grappler's folding, which keeps names."""
    runtime: bool = True
    """The runtime's folding, which also folds small graphs and strings."""
    max_bytes: int = MAX_FOLDED_BYTES
    """Maximum bytes of a result."""

    @classmethod
    def of(cls, config: ConfigProto) -> FoldingOptions:
        """Return the options of a ``ConfigProto``, or any object with its attributes; None for the defaults."""
        graph_options = getattr(config, "graph_options", None)
        rewriter = getattr(graph_options, "rewrite_options", None)
        optimizer = getattr(graph_options, "optimizer_options", None)
        is_off = getattr(rewriter, "constant_folding", 0) == _OFF
        is_off = is_off or bool(getattr(rewriter, "disable_meta_optimizer", False))
        level = getattr(optimizer, "opt_level", 0)
        is_requested = bool(getattr(optimizer, "do_constant_folding", False))
        limit = getattr(optimizer, "max_folded_constant_in_bytes", 0) or MAX_FOLDED_BYTES
        return cls(not is_off, level >= 0 or is_requested, limit)

    @property
    def is_on(self) -> bool:
        """Whether anything is folded."""
        return self.grappler or self.runtime

    def may_fold(self, op_def: OpDef, inputs: Sequence[DType], outputs: Sequence[DType]) -> bool:
        """Whether nodes of an op are folded if their inputs are constants.

        Args:
            op_def: the op.
            inputs: type of each input.
            outputs: type of each output.
        """
        if op_def.is_stateful or op_def.name in _NEVER or not outputs or traits_of(op_def.name).reads_outside:
            return False
        if any(attr.type in _FUNCTION_TYPES for attr in op_def.attrs):
            return False
        if not self.runtime and (len(outputs) > 1 or string in inputs or string in outputs):
            return False
        return not any(dtype.is_ref_dtype or dtype.is_handle for dtype in (*inputs, *outputs))

    def is_large(self, nbytes: int, input_bytes: int) -> bool:
        """Whether a result is too large to fold: larger than the limit, and than its inputs (bytes)."""
        return nbytes > self.max_bytes and nbytes > input_bytes


class Folder:
    """Constant folding of one session.

    Args:
        config: the session's ``ConfigProto``.
        resources: the session's resources for kernels.
    """

    def __init__(self, config: ConfigProto, resources: Any) -> None:
        self.options = FoldingOptions.of(config)
        self._resources = resources
        self._values_of: dict[Operation, tuple[Any, ...] | None] = {}

    def clear(self) -> None:
        """Drop all values."""
        self._values_of = {}

    def fold(
        self,
        operations: Sequence[Operation],
        fetches: Iterable[Tensor],
        targets: Iterable[Operation],
        feeds: Collection[Tensor],
    ) -> tuple[Sequence[Operation], dict[Operation, tuple[Folded, ...]]]:
        """Return the operations that still have to run, in the same order, and the constants among them.

        Args:
            operations: operations of the signature in topological order.
            fetches: fetched tensors.
            targets: operations that must run.
            feeds: fed tensors.
        """
        if not self.options.is_on:
            return operations, {}
        constant: dict[Operation, _Constant] = {}
        folded_ops: list[Operation] = []
        for op in operations:
            if op.type == "Const":
                constant[op] = _Constant((), tuple(op.controls))
                continue
            inputs = op.inputs
            if not inputs:
                continue
            for tensor in inputs:
                if tensor.op not in constant:
                    break
            else:
                if self._fold_one(op, constant, feeds):
                    folded_ops.append(op)
        if not folded_ops:
            return operations, {}
        return self._pruned(operations, folded_ops, constant, fetches, targets, feeds)

    def _fold_one(
        self, op: Operation, constant: dict[Operation, _Constant], feeds: Collection[Tensor]
    ) -> bool:
        """Fold an operation if it can be computed; return whether it was."""
        if any(tensor in feeds for tensor in (*op.inputs, *op.outputs)):
            return False
        if op not in self._values_of:
            self._values_of[op] = self._compute(op, constant) if self._may_fold(op) else None
        values = self._values_of[op]
        if values is None:
            return False
        controls = dict.fromkeys(op.controls)
        for tensor in op.inputs:
            controls.update(dict.fromkeys(constant[tensor.op].controls))
        constant[op] = _Constant(values, tuple(controls))
        return True

    def _may_fold(self, op: Operation) -> bool:
        types = [[tensor.dtype for tensor in tensors] for tensors in (op.inputs, op.outputs)]
        is_same = op.op_def is not None and self.options.may_fold(op.op_def, *types)
        return is_same and find_compute(op.type, "CPU") is not None and self._is_small(op)

    def _is_small(self, op: Operation) -> bool:
        """Whether result and work are small enough, as far as they are known beforehand."""
        input_bytes = sum(tensor_nbytes(tensor) or 0 for tensor in op.inputs)
        for tensor in op.outputs:
            nbytes = tensor_nbytes(tensor)
            if nbytes is None:
                if traits_of(op.type).grows or input_bytes > self.options.max_bytes:
                    return False
            elif self.options.is_large(nbytes, input_bytes):
                return False
        # A pass-through op costs nothing, but folding it would keep a large constant in memory during every step.
        return max(operation_cost_us(op) or 0.0, input_bytes / BYTES_PER_US) <= MAX_COST_US

    def _compute(self, op: Operation, constant: dict[Operation, _Constant]) -> tuple[Any, ...] | None:
        """Return the outputs, or None if they cannot be computed for any reason, which the step will report."""
        inputs = [_value(tensor, constant) for tensor in op.inputs]
        try:
            with as_kernels_do():
                results = bind(op.type, "CPU", np, op, self._resources)(*inputs)
        except Exception as error:
            raise_of_signal_handler(error)
            return None
        values = tuple(map(np.asarray, results if isinstance(results, tuple | list) else (results,)))
        if len(values) != len(op.outputs):
            return None
        input_bytes = sum(value.nbytes for value in inputs)
        for value, tensor in zip(values, op.outputs, strict=True):
            if value.dtype != tensor.dtype.as_numpy_dtype and tensor.dtype is not string:
                return None
            if self.options.is_large(value.nbytes, input_bytes):
                return None
        return values

    def _pruned(
        self,
        operations: Sequence[Operation],
        folded_ops: Collection[Operation],
        constant: dict[Operation, _Constant],
        fetches: Iterable[Tensor],
        targets: Iterable[Operation],
        feeds: Collection[Tensor],
    ) -> tuple[Sequence[Operation], dict[Operation, tuple[Folded, ...]]]:
        """Return the operations that still run, and the constants that have consumers other than constants."""
        by_grappler = self.options.grappler and len(operations) + len(feeds) + 1 >= MIN_GRAPPLER_NODES
        keeps_name = by_grappler or not self.options.runtime
        candidates = set(folded_ops)
        if not by_grappler:  # the runtime does not fold targets, which have no consumers
            candidates.difference_update(targets)
        fetched_tensors = [tensor for tensor in fetches if tensor not in feeds]
        used = set(fetched_tensors)
        running = set(operations)
        kept: set[Operation] = set()
        stack = [*targets, *(tensor.op for tensor in fetched_tensors)]
        controls: list[Operation] = []
        while stack or controls:
            if stack:
                op = stack.pop()
            else:
                op = controls.pop()
                if op in candidates and not constant[op].controls:
                    continue  # a constant without control inputs constrains nothing
            if op in kept or op not in running:
                continue
            kept.add(op)
            if op in candidates:
                controls.extend(constant[op].controls)
                continue
            for tensor in op.inputs:
                source = tensor.op
                if source in candidates:
                    used.add(tensor)
                if source not in kept and tensor not in feeds:
                    stack.append(source)
            controls.extend(op.controls)
        folded = {}
        for op in folded_ops:
            if op in kept and op in candidates:
                outputs = [tensor for tensor in op.outputs if tensor in used] or op.outputs[:1]
                folded[op] = tuple(_constant_of(tensor, constant[op], keeps_name) for tensor in outputs)
        return [op for op in operations if op in kept], folded


def _constant_of(tensor: Tensor, constant: _Constant, keeps_name: bool) -> Folded:
    op, output = tensor.op, tensor.value_index
    keeps_name = keeps_name and len(op.outputs) == 1 and tensor.dtype is not string
    name = op.name if keeps_name else f"{op.name}/_{output}__cf__{output}"
    return Folded(output, constant.values[output], constant.controls, name)


def _value(tensor: Tensor, constant: dict[Operation, _Constant]) -> Array:
    values = constant[tensor.op].values
    return values[tensor.value_index] if values else tensor.op.attrs["value"].array
