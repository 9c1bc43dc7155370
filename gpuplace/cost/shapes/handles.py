"""Shape rules for resources outside of tensors: TensorArrays, lists, optionals, stacks, queues and variables.

A read has the shape that was written through the same handle. Handles are followed from the node that creates them
through ``Identity``, ``Switch``, ``Merge``, ``Enter`` and calls. Elements of several shapes have their least general
common shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuplace.cost.shapes.engine import RULES, Engine
from gpuplace.cost.shapes.handle import Handle, merged_sizes
from gpuplace.cost.shapes.kinds import Kind, Sizes, Value, is_known
from gpuplace.shapes import TensorShape


def _sizes_attr(kind: Kind, name: str) -> Sizes:
    shape = kind.attrs.get(name)
    return shape.sizes if isinstance(shape, TensorShape) else None


def _rest(sizes: Sizes) -> Sizes:
    return None if not sizes else sizes[1:]


# TensorArrays

_HANDLE_PAIR: Sequence[Sizes] = ((2,), ())


@RULES("TensorArrayV3", "TensorArrayV2", "TensorArray")
def _make_array(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.own_handle(node, kind)
    handle.count = engine.value_of_input(node, 0)
    declared = _sizes_attr(kind, "element_shape" if "element_shape" in kind.attrs else "elem_shape")
    if declared is not None and None not in declared:
        handle.write(engine, [declared])
    return _HANDLE_PAIR if kind.op_type == "TensorArrayV3" else [(2,)]


@RULES("TensorArrayGradV3", "TensorArrayGradV2", "TensorArrayGrad", "TensorArrayGradWithShape")
def _make_gradient_array(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    forward = engine.handle_at(node, 0)
    handle = engine.own_handle(node, kind)
    if forward is not None:
        handle.count = forward.count
        elements = forward.read(engine, node)
        if elements and kind.op_type != "TensorArrayGradWithShape":
            handle.write(engine, elements)
    return _HANDLE_PAIR if len(kind.dtypes) == 2 else [(2,)]


@RULES("TensorArrayWriteV3", "TensorArrayWriteV2", "TensorArrayWrite")
@RULES("TensorArrayScatterV3", "TensorArrayScatterV2", "TensorArrayScatter", "TensorArrayUnpack")
def _write_array(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    if handle is not None:
        written = engine.input_sizes(node, 1 if kind.op_type == "TensorArrayUnpack" else 2)
        handle.write(engine, [written if "Write" in kind.op_type else _rest(written)])
    return [()]


@RULES("TensorArraySplitV3", "TensorArraySplitV2", "TensorArraySplit")
def _split_array(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    whole, lengths = engine.input_sizes(node, 1), engine.value_of_input(node, 2)
    if handle is not None and whole:
        first = None
        if (
            lengths is not None
            and lengths[1] is None
            and lengths[0].size
            and (lengths[0] == lengths[0].flat[0]).all()
        ):
            first = int(lengths[0].flat[0])
        handle.write(engine, [(first, *whole[1:])])
    return [()]


@RULES("TensorArrayReadV3", "TensorArrayReadV2", "TensorArrayRead")
def _read_array(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    return [None if handle is None else handle.read_one(engine, node)]


@RULES("TensorArrayGatherV3", "TensorArrayGatherV2", "TensorArrayGather", "TensorArrayPack")
def _gather_array(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    declared = _sizes_attr(kind, "element_shape")
    element = merged_sizes(None if handle is None else handle.read_one(engine, node), declared)
    if element is None:
        return [None]
    if kind.op_type == "TensorArrayPack":
        return [(_scalar(None if handle is None else handle.count), *element)]
    indices = engine.input_sizes(node, 1)
    return [(indices[0] if indices else None, *element)]


@RULES("TensorArrayConcatV3", "TensorArrayConcatV2", "TensorArrayConcat")
def _concat_array(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    element = None if handle is None else handle.read_one(engine, node)
    count = _scalar(None if handle is None else handle.count)
    if not element:
        rest = _sizes_attr(kind, "element_shape_except0")
        return [None if rest is None else (None, *rest), (count,)]
    first = None if count is None or element[0] is None else count * element[0]
    return [(first, *element[1:]), (count,)]


def _scalar(value: Value | None) -> int | None:
    return None if value is None or value[1] is not None or value[0].ndim else int(value[0])


# Lists of tensors


@RULES("EmptyTensorList", "TensorListReserve")
def _make_list(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.own_handle(node, kind)
    if kind.op_type == "TensorListReserve":
        handle.count = engine.value_of_input(node, 1)
    declared = engine.shape_from_input(node, 0)
    if declared is not None and None not in declared:
        handle.write(engine, [declared])
    return [()]


@RULES("TensorListFromTensor", "TensorListScatter", "TensorListScatterV2")
def _list_of(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.own_handle(node, kind)
    whole = engine.input_sizes(node, 0)
    handle.write(engine, [_rest(whole)])
    if kind.op_type == "TensorListFromTensor" and whole and whole[0] is not None:
        handle.count = np.asarray(whole[0], np.int32), None
    return [()]


@RULES("TensorListSetItem", "TensorListPushBack")
def _set_in_list(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    if handle is not None:
        at = 2 if kind.op_type == "TensorListSetItem" else 1
        if not kind.input_types[at].name == "variant":
            handle.write(engine, [engine.input_sizes(node, at)])
        if kind.op_type == "TensorListPushBack":
            handle.count = None
        engine.set_handle(node, 0, handle)
    return [()]


@RULES("TensorListResize", "TensorListScatterIntoExistingList")
def _same_list(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    if handle is not None:
        if kind.op_type != "TensorListResize":
            handle.write(engine, [_rest(engine.input_sizes(node, 1))])
        engine.set_handle(node, 0, handle)
    return [()]


@RULES("TensorListGetItem", "TensorListPopBack", "TensorListStack", "TensorListGather", "TensorListConcatV2")
def _read_list(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    shape_at = {"TensorListGetItem": 2, "TensorListGather": 2}.get(kind.op_type, 1)
    declared = engine.shape_from_input(node, shape_at)
    element = merged_sizes(None if handle is None else handle.read_one(engine, node), declared)
    if kind.op_type == "TensorListGetItem":
        return [element]
    if kind.op_type == "TensorListPopBack":
        if handle is not None:
            engine.set_handle(node, 0, handle)
        return [(), element]
    count = _scalar(None if handle is None else handle.count)
    if kind.op_type == "TensorListConcatV2":
        if not element:
            return [None, (count,)]
        first = None if count is None or element[0] is None else count * element[0]
        return [(first, *element[1:]), (count,)]
    if kind.op_type == "TensorListGather":
        indices = engine.input_sizes(node, 1)
        count = indices[0] if indices else None
    elif kind.attrs.get("num_elements", -1) >= 0:
        count = kind.attrs["num_elements"]
    return [None if element is None else (count, *element)]


# Optionals: values that a conditional keeps for the gradient of each branch


@RULES("OptionalFromValue")
def _make_optional(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    values = [engine.sizes(source, output) for source, output in engine.inputs[node]]
    engine.own_handle(node, kind).write(engine, values)
    return [()]


@RULES("OptionalGetValue")
def _read_optional(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    """Prefer the shapes that the branch declares: the merged optional of two branches may have the shapes of either."""
    handle = engine.handle_at(node, 0)
    shapes = kind.attrs.get("output_shapes")
    declared_shapes = shapes if isinstance(shapes, list | tuple) else ()  # a damaged graph may hold anything
    declared = [shape.sizes if isinstance(shape, TensorShape) else None for shape in declared_shapes]
    values = handle.read(engine, node) if handle is not None else None
    if not values or len(values) != len(declared):
        return declared or [None] * len(kind.dtypes)
    return list(map(merged_sizes, declared, values))


def merged_handle(engine: Engine, node: int, kind: Kind) -> Handle | None:
    """Return the resource of a ``Merge`` output: an optional of either branch, otherwise that of the first input.

    Args:
        engine: the graph.
        node: the merge.
        kind: its kind.
    """
    branches = [engine.handle_at(node, at) for at in range(len(engine.inputs[node]))]
    first_handle = next((handle for handle in branches if handle is not None), None)
    if not any(handle.is_optional for handle in branches if handle is not None):
        return first_handle
    merged = Handle(kind, tuple([engine.input_sizes(node, at) for at in range(len(branches))]))
    merged.branches = tuple(branches)
    return merged


def handle_of_branch(handle: Handle, kind: Kind, output: int) -> Handle:
    """Return the resource of a ``Switch`` output: for an optional of either branch, that of the output's own branch.

    A conditional and its gradient have the same predicate. Lowering merges the branch for True first.

    Args:
        handle: resource of the switch's input.
        kind: kind of the switch.
        output: number of the output.
    """
    branch = output if kind.op_type == "_SwitchN" else 1 - output
    return (handle.branches[branch] if branch < len(handle.branches) else None) or handle


# Stacks


@RULES("StackV2", "Stack")
def _make_stack(engine: Engine, node: int, kind: Kind) -> None:
    engine.own_handle(node, kind)


@RULES("StackPushV2", "StackPush")
def _push(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle, sizes = engine.handle_at(node, 0), engine.input_sizes(node, 1)
    if handle is not None:
        handle.write(engine, [sizes])
        if (engine, node) not in handle.pushed:
            handle.pushed.append((engine, node))
    return [sizes]


@RULES("StackPopV2", "StackPop")
def _pop(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    return [None if handle is None else handle.read_one(engine, node)]


# Queues and staging areas


@RULES("QueueEnqueueV2", "QueueEnqueue", "QueueEnqueueManyV2", "QueueEnqueueMany")
def _enqueue(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    if handle is not None and kind.attrs.get("shapes") is None and not handle.kind.attrs.get("shapes"):
        count = len(engine.inputs[node]) - 1
        written = [engine.input_sizes(node, at + 1) for at in range(count)]
        handle.write(engine, list(map(_rest, written)) if "Many" in kind.op_type else written)
    return []


@RULES("QueueDequeueV2", "QueueDequeue", "QueueDequeueManyV2", "QueueDequeueMany", "QueueDequeueUpToV2")
def _dequeue(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    outputs = len(kind.dtypes)
    if handle is None:
        return [None] * outputs
    declared = handle.kind.attrs.get("shapes") or ()
    elements: Sequence[Sizes] = [shape.sizes for shape in declared] or handle.read(engine, node) or []
    if handle.kind.op_type.startswith("PriorityQueue") and declared:
        elements = [(), *elements]
    if len(elements) != outputs:
        return [None] * outputs
    if kind.op_type.startswith(("QueueDequeueMany", "QueueDequeueUpTo")):
        count = _scalar(engine.value_of_input(node, 1)) if "Many" in kind.op_type else None
        return [None if sizes is None else (count, *sizes) for sizes in elements]
    return elements


# Variables


@RULES("VarHandleOp")
def _variable(engine: Engine, node: int, kind: Kind) -> None:
    engine.own_handle(node, kind)


@RULES("AssignVariableOp")
def _assign(engine: Engine, node: int, kind: Kind) -> None:
    handle = engine.handle_at(node, 0)
    if handle is not None and not is_known(_sizes_attr(handle.kind, "shape")):
        handle.write(engine, [engine.input_sizes(node, 1)])


@RULES("ReadVariableOp")
def _read_variable(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = engine.handle_at(node, 0)
    if handle is None:
        return [None]
    handle.read(engine, node)
    return [handle.variable_sizes()]
