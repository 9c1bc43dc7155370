"""Lower `AccumulateNV2` and `ParallelConcat` to nodes that work in place.

    AccumulateNV2    X/Internal/_0 TemporaryVariable ─> X/Internal/_4 Assign ─> X/Internal/_5 AssignAdd, ...
                     X/Internal/_3 Fill ─────────────────────^   └─> X (DestroyTemporaryVariable), after all of them
                       of _1 Shape (of the first input) and _2 Const
    ParallelConcat   X/Internal/_0 _ParallelConcatStart ─> X/Internal/_1 _ParallelConcatUpdate, ...
                                                        └─> X (Identity), after all of them

Source: tensorflow/core/common_runtime/accumulate_n_optimizer.cc and parallel_concat_optimizer.cc, releases 1.15, 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype
from gpuplace.graph.attr_value import TensorValue
from gpuplace.graph.op_sets import ENTERS, EXITS
from gpuplace.placer.lowering.flow_graph import FlowGraph, FlowNode


def lower_accumulate(graph: FlowGraph, node: FlowNode) -> None:
    """Lower an `AccumulateNV2`."""
    dtype, shape = node.attrs["T"], node.attrs.get("shape")
    of_type = {"T": dtype}

    def new(op_type: str, attrs: Mapping[str, Any], *sources: FlowNode) -> FlowNode:
        inputs = [(source, 0) for source in sources]
        return graph.add(graph.new_name(f"{node.name}/Internal"), op_type, attrs, node.device, inputs)

    variable_name = f"{node.name}/Internal/Accumulator".encode()
    variable = new("TemporaryVariable", {"dtype": dtype, "shape": shape, "var_name": variable_name})
    shape_of = new("Shape", {**of_type, "out_type": as_dtype("int32")})
    graph.feed(shape_of, node.inputs[0])
    zero = new("Const", {"dtype": dtype, "value": _zero(dtype)})
    zeros = new("Fill", {**of_type, "index_type": as_dtype("int32")}, shape_of, zero)
    assign = new("Assign", {**of_type, "validate_shape": False}, variable, zeros)
    adds = []
    for source in node.inputs:
        add = new("AssignAdd", {**of_type, "use_locking": True}, assign)
        graph.feed(add, source)
        adds.append(add)
    attrs = {**of_type, "var_name": variable_name}
    result = graph.add(node.name, "DestroyTemporaryVariable", attrs, node.device, [(assign, 0)], adds)
    for control in node.controls:
        graph.add_control(control, variable)
    graph.replace(node, [(result, 0)], result)
    graph.remove(node)


def sum_in_loop(graph: FlowGraph, node: FlowNode) -> None:
    """Replace an `AccumulateNV2` with an `AddN`: a variable updated in place would be shared by all iterations."""
    attrs = {"T": node.attrs["T"], "N": len(node.inputs)}
    result = graph.add(node.name, "AddN", attrs, node.device, list(node.inputs), list(node.controls))
    graph.replace(node, [(result, 0)], result)
    graph.remove(node)


def nodes_in_loops(graph: FlowGraph) -> set[FlowNode]:
    """Return the nodes that run in a loop: after `Enter` nodes and before `Exit` nodes."""
    left = [(node, 1) for node in graph.nodes() if node.op_type in ENTERS]
    most = len(left)
    depth: dict[FlowNode, int] = {}
    while left:
        node, loops = left.pop()
        if depth.get(node, 0) >= loops or loops > most:
            continue
        depth[node] = loops
        for consumer in node.consumers:
            around = loops + (consumer.op_type in ENTERS) - (consumer.op_type in EXITS)
            if around:
                left.append((consumer, around))
    return set(depth)


def _zero(dtype: DType) -> TensorValue:
    """Return the zero of a dtype."""
    return TensorValue.of_array(np.zeros((), dtype.as_numpy_dtype), dtype)


def lower_parallel_concat(graph: FlowGraph, node: FlowNode) -> None:
    """Lower a `ParallelConcat`."""
    dtype = node.attrs["T"]
    start = graph.add(
        graph.new_name(f"{node.name}/Internal"),
        "_ParallelConcatStart",
        {"dtype": dtype, "shape": node.attrs.get("shape")},
        node.device,
        controls=node.controls,
    )
    updates = [
        graph.add(
            graph.new_name(f"{node.name}/Internal"),
            "_ParallelConcatUpdate",
            {"T": dtype, "loc": i},
            node.device,
            [(start, 0), source],
        )
        for i, source in enumerate(node.inputs)
    ]
    result = graph.add(node.name, "Identity", {"T": dtype}, node.device, [(start, 0)], updates)
    graph.replace(node, [(result, 0)], result)
    graph.remove(node)
