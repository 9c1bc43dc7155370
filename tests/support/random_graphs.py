"""Random graphs over the real catalogue: explicit devices (partial, absent and malformed ones too), colocations,
reference and resource edges, int32, strings and control edges.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import DType, as_dtype
from gpuplace.graph.op_def import OpDef
from gpuplace.kernels.registry import default_catalogue
from tests.support.node_specs import NodeSpec, required_attrs

__all__ = ["RandomGraph", "usable_ops"]

DEVICES = [
    "",
    "",
    "",
    "",
    "/cpu:0",
    "/gpu:0",
    "/gpu:1",
    "/device:GPU:0",
    "/device:CPU:1",
    "/gpu:3",
    "/cpu:3",
] * 2 + [
    "/job:localhost",
    "/job:localhost/gpu:0",
    "/job:worker",
    "/device:GPU:*",
    "/device:CPU:*",
    "/task:0",
    "/replica:0/cpu:0",
    "/job:localhost/replica:0/task:0/device:GPU:0",
    "/job:localhost/replica:0/task:0/device:CPU:0",
    "/device:gpu:0",
    "/device:*:1",
    "/device:FPGA:0",
    "/task:1/gpu:0",
]
MALFORMED = ["/gpu", "gpu:0", "/gpu:0/", "/tpu:0", "/job:", "//cpu:0"]
TYPES = [
    "float32",
    "float32",
    "float32",
    "int32",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "complex64",
    "resource",
    "variant",
]
SKIPPED_OPS = {
    "AccumulateNV2",
    "ParallelConcat",
    "NextIteration",
    "RefNextIteration",
    "PyFunc",
    "Fact",
    "NcclBroadcast",
    "NcclReduce",
}
COMMON_OPS = (
    "Identity Add AddV2 MatMul Shape Size Rank Const Placeholder Neg Cast Pow Sum Mean Reshape Assign AssignAdd "
    "ReadVariableOp AssignVariableOp VariableV2 VarHandleOp Variable NoOp Identity Identity ConcatV2 Pack ShapeN "
    "Switch Merge RefSwitch RefIdentity ApplyGradientDescent ResourceApplyGradientDescent ApplyMomentum "
    "SparseApplyMomentum "
    "StringJoin AsString QueueEnqueueV2 FIFOQueueV2 HashTableV2 LookupTableFindV2 IteratorV2 IteratorGetNext "
    "MakeIterator TensorSliceDataset BatchDataset PrefetchDataset RangeDataset RandomUniform "
    "IsVariableInitialized Group IdentityN "
    "StackV2 StackPushV2 TensorArrayV3 TensorArrayWriteV3 ResourceGather VarIsInitializedOp ScatterUpdate"
).split()


def usable_ops(rules: str) -> dict[str, OpDef]:
    """Ops that can be put into a random graph."""
    registry = default_catalogue(rules).ops
    ops = {}
    for name in registry.names():
        op_def = registry.lookup(name)
        if name.startswith(("_", "Xla")) or name in SKIPPED_OPS or op_def.deprecation is not None:
            continue
        if any(attr.element_type == "func" for attr in op_def.attrs):
            continue
        ops[name] = op_def
    return ops


class RandomGraph:
    """Grows a random graph node by node.

    Args:
        rng: source of randomness.
        ops: what may be used.
    """

    def __init__(self, rng: random.Random, ops: dict[str, OpDef]) -> None:
        self.rng = rng
        self.ops = ops
        self.names = sorted(ops)
        self.common = [name for name in COMMON_OPS if name in ops]
        self.specs: list[NodeSpec] = []
        self.outputs: dict[str, list[str]] = {}
        self.malformed = rng.random() < 0.02
        self.device_rate = rng.choice([0.0, 0.1, 0.3, 0.6])
        self.class_rate = rng.choice([0.0, 0.1, 0.4])
        self.control_rate = rng.choice([0.0, 0.1, 0.3])
        self.any_rate = rng.choice([0.0, 0.1, 0.5])
        self.reuse_rate = 0.8
        self.devices = rng.sample(DEVICES, rng.choice([2, 4, len(DEVICES)]))

    def grow(self, count: int) -> list[NodeSpec]:
        """About `count` nodes."""
        while len(self.specs) < count:
            names = self.names if self.rng.random() < self.any_rate else self.common
            self.add(self.ops[self.rng.choice(names)])
        if self.rng.random() < 0.2:
            self.rng.shuffle(self.specs)
        return self.specs

    def add(self, op_def: OpDef) -> None:
        attrs: dict[str, Any] = {}
        for attr in op_def.attrs:
            if attr.type == "type" and (not attr.has_default or self.rng.random() < 0.5):
                attrs[attr.name] = self.pick_allowed(attr.allowed) if attr.allowed else self.pick_type()
            elif attr.type == "list(type)" and not attr.has_default:
                size = max(attr.minimum or 0, self.rng.randint(0, 3))
                attrs[attr.name] = tuple(self.pick_type() for _ in range(size))
        attrs = {**required_attrs(op_def, attrs), **attrs}
        full = {**op_def.defaults, **attrs}
        try:
            wanted, given = op_def.input_types(full), op_def.output_types(full)
        except (KeyError, TypeError):
            return
        if len(wanted) > 12:
            return
        inputs = [self.source(dtype) for dtype in wanted]
        if any(source is None for source in inputs):
            return
        texts = [source for source in inputs if source is not None]
        while self.specs and self.rng.random() < self.control_rate:
            texts.append(f"^{self.rng.choice(self.specs).name}")
        self.emit(op_def.name, texts, attrs, given)

    def emit(self, op: str, inputs: Sequence[str], attrs: dict[str, Any], given: Sequence[DType]) -> str:
        name = f"n{len(self.specs)}"
        device = self.rng.choice(self.devices) if self.rng.random() < self.device_rate else ""
        if self.malformed and self.rng.random() < 0.1:
            device = self.rng.choice(MALFORMED)
        groups: list[str] = []
        while self.rng.random() < self.class_rate and len(groups) < 3:
            groups.append(
                self.rng.choice([spec.name for spec in self.specs] + ["elsewhere", f"n{len(self.specs) + 2}"])
            )
        self.specs.append(NodeSpec(name, op, tuple(inputs), device, tuple(groups), attrs))
        for position, dtype in enumerate(given):
            self.outputs.setdefault(dtype.name, []).append(f"{name}:{position}" if position else name)
        return name

    def pick_allowed(self, allowed: Sequence[DType]) -> DType:
        """One of the types that an op allows, float32 and int32 more often than others."""
        picked = self.rng.choice(allowed)
        for name, rate in (("float32", 0.5), ("int32", 0.3)):
            if as_dtype(name) in allowed and self.rng.random() < rate:
                picked = as_dtype(name)
        return picked

    def pick_type(self) -> DType:
        return as_dtype(self.rng.choice(TYPES))

    def source(self, dtype: DType) -> str | None:
        """An output of the type, made if need be."""
        choices = list(self.outputs.get(dtype.name, []))
        if not dtype.is_ref_dtype:
            choices += self.outputs.get(dtype._as_ref.name, [])
        if choices and self.rng.random() < self.reuse_rate:
            return self.rng.choice(choices)
        if dtype.is_ref_dtype:
            return self.emit("VariableV2", (), self.filled("VariableV2", dtype=dtype.base_dtype), [dtype])
        if dtype.name == "resource":
            some = self.pick_type()
            return self.emit("VarHandleOp", (), self.filled("VarHandleOp", dtype=some), [dtype])
        if dtype.name in ("float32", "int32", "string", "int64", "bool") and self.rng.random() < 0.6:
            return self.emit("Const", (), self.filled("Const", dtype=dtype), [dtype])
        return self.emit("Placeholder", (), {"dtype": dtype}, [dtype])

    def filled(self, op: str, **attrs: DType) -> dict[str, Any]:
        return {**required_attrs(self.ops[op], dict(attrs)), **attrs}
