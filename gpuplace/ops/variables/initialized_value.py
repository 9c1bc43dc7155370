"""Values of variables that may be uninitialized: ``tf.Variable(other * 2.0)`` can be initialized in any order.

                       +-- switch --(initialized)--> read ----+
    is initialized? ---+                                      +--> merge
                       +-- switch --(not yet)--> initial value+

An initial value that depends on a reference variable is rebuilt on top of such a merge, so that initializing both
variables in one step gives the same values in any order.

Source: tensorflow/python/ops/variables.py and control_flow_ops.py (structure of ``cond``), release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.graph.operation import Operation, Tensor, update_input
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.shape_rules import require_rank
from gpuplace.shapes import SCALAR_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule

_READ_AT_ONCE = frozenset({"IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If"})


def value_if_initialized(variable: Any) -> Tensor:
    """Return the value of ``variable`` or, if it is uninitialized, its initial value, as ``tf.cond`` would build it.

    Raises:
        ValueError: the initial value is unknown, as for a variable imported from a message that does not name it.
    """
    if variable.initial_value is None:
        raise ValueError("false_fn must have a return value.")
    graph = variable.graph
    is_initialized = variable.is_initialized()
    with graph.name_scope("cond"):
        switch = apply_op("Switch", data=is_initialized, pred=is_initialized)
        apply_op("Identity", "switch_t", input=switch.outputs[1])
        apply_op("Identity", "switch_f", input=switch.outputs[0])
        pred = apply_op("Identity", "pred_id", input=is_initialized).outputs[0]
        source: Tensor = variable.op.outputs[0]
        if source.dtype.is_ref_dtype:
            read = apply_op("Identity", "read", input=source)
            value = read.outputs[0]
        else:
            with graph.name_scope("Read"), graph.device(source.device):
                read = apply_op("ReadVariableOp", resource=source, dtype=variable.dtype)
        switched = _switch(source, pred, read.name)
        update_input(read, 0, switched.outputs[1])
        if not source.dtype.is_ref_dtype:
            value = apply_op("Identity", input=read.outputs[0]).outputs[0]
        other = _switch(variable.initial_value, pred, None)
        return apply_op("Merge", inputs=[other.outputs[0], value]).outputs[0]


def _switch(data: Tensor, pred: Tensor, of: str | None) -> Operation:
    """Send ``data`` to output 1 or 0; in the scope of the operation named ``of`` if given."""
    op_type = "RefSwitch" if data.dtype.is_ref_dtype else "Switch"
    with data.graph.colocate_with(data.op, ignore_existing=True):
        if of is None:
            return apply_op(op_type, "Switch", data=data, pred=pred)
        with data.graph.name_scope(of + "/"):
            return apply_op(op_type, "Switch", data=data, pred=pred)


def guarded_initial_value(name: str, initial_value: Tensor) -> Tensor:
    """Return ``initial_value`` with each reference variable replaced by its value or initial value.

    Args:
        name: name of the variable to initialize, used in the names of rebuilt operations.
        initial_value: the tensor.
    """
    return _rebuilt(name, initial_value, {})


def _rebuilt(name: str, tensor: Tensor, done: dict[Operation, Operation]) -> Tensor:
    op = tensor.op
    if op not in done:
        done[op] = _rebuilt_op(name, op, done)
    return done[op].outputs[tensor.value_index]


def _rebuilt_op(name: str, op: Operation, done: dict[Operation, Operation]) -> Operation:
    if op.type in _READ_AT_ONCE or not op.inputs and op.type not in VARIABLE_OPS:
        return op
    if op.type in VARIABLE_OPS:
        variable = _variable_of(op)
        return op if variable is None else variable.initialized_value().op
    done[op] = op  # ends a loop's cycle
    inputs = [_rebuilt(name, tensor, done) for tensor in op.inputs]
    if all(new is old for new, old in zip(inputs, op.inputs, strict=True)):
        return op
    return op.graph.create_op(
        "Switch" if op.type == "RefSwitch" else op.type,
        inputs,
        name=f"{op.name}_{name}/".replace(":", "_"),
        attrs=op.attrs,
    )


def _variable_of(op: Operation) -> Any:
    for collection in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in op.graph.get_collection(collection):
            if getattr(variable, "op", None) is op:
                return variable
    return None


# Switch, Merge


@shape_function("Switch", "RefSwitch")
def _switch_shape(op: Operation) -> list[TensorShape]:
    require_rank(op.inputs[1].shape, 0)
    return [op.inputs[0].shape] * 2


@compute("Switch", "RefSwitch")
def _switch_kernel(xp: ArrayModule, data: Array, pred: Array) -> tuple[Any, Any]:
    """The plan decides by ``pred`` which output is live and what runs after it, and likewise for ``Merge``."""
    return data, data


@shape_function("Merge", "RefMerge")
def _merge_shape(op: Operation) -> list[TensorShape]:
    shape = op.inputs[0].shape
    for tensor in op.inputs[1:]:
        shape = shape.most_specific_compatible_shape(tensor.shape)
    return [shape, SCALAR_SHAPE]
