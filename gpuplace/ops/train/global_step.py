"""The global step: a variable that counts the updates of a model.

Source: tensorflow/python/training/training_util.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int64
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variables.state import assign_add
from gpuplace.ops.variables.variable_scope import get_variable
from gpuplace.ops.variables.variables import Variable, VariableAggregation
from gpuplace.typing import TensorLike


def global_step(sess: Any, global_step_tensor: TensorLike) -> int:
    """Return the value of a global step in a session.

    Args:
        sess: the session.
        global_step_tensor: the step, an integer scalar.

    Returns:
        A Python integer.

    Raises:
        FailedPreconditionError: the step has no value in the session.
    """
    return int(sess.run(global_step_tensor).item())  # a step may be a vector of one element


def get_global_step(graph: Graph | None = None) -> Any:
    """Return the global step of a graph.

    Args:
        graph: the graph; None: the default graph.

    Returns:
        A variable or tensor, an integer scalar; None if there is none, or more than one.

    Raises:
        TypeError: the object of that name is not an integer scalar.
    """
    graph = graph or get_default_graph()
    candidates = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(candidates) > 1:
        return None
    if candidates:
        step = candidates[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Any:
    """Make the global step of a graph, a non-trainable int64 variable with value 0.

    Args:
        graph: the graph; None: the default graph.

    Returns:
        The variable.

    Raises:
        ValueError: the graph already has a global step.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=Zeros(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Return the global step of a graph; make it if there is none.

    Args:
        graph: the graph; None: the default graph.

    Returns:
        A variable or tensor, an integer scalar.

    Raises:
        TypeError: the object of that name is not an integer scalar.
    """
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: TensorLike) -> None:
    """Check that an object can be a global step.

    Args:
        global_step_tensor: a variable or tensor.

    Raises:
        TypeError: the object is not an integer scalar.
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


_READ = "global_step_read_op_cache"
"""The collection in which ``global_step_read`` keeps its tensor."""


def global_step_read(graph: Graph | None = None) -> Any:
    """Return a tensor with the value of the global step, shared by all readers.

    Args:
        graph: the graph; None: the default graph.

    Returns:
        An integer scalar; None without a global step.
    """
    graph = graph or get_default_graph()
    reads = graph.get_collection(_READ)
    if reads:
        return reads[0]
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.name_scope(None), graph.name_scope(f"{step.op.name}/"):
        value = step.initialized_value() if isinstance(step, Variable) else step
        graph.add_to_collection(_READ, value + 0)
    return graph.get_collection(_READ)[0]


def increment_global_step(increment: int, graph: Graph | None = None) -> Tensor:
    """Return an operation that adds to the global step after all of its readers.

    Args:
        increment: the number to add.
        graph: the graph; None: the default graph.

    Returns:
        The result of ``assign_add``.

    Raises:
        ValueError: there is no global step.
    """
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError("There is no global step: create one with tf.train.get_or_create_global_step().")
    read = global_step_read(graph)
    with graph.as_default(), graph.name_scope(None), graph.name_scope(f"{step.op.name}/"):
        with graph.control_dependencies([read]):
            return assign_add(step, increment)
