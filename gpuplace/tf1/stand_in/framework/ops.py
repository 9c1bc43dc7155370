"""Private names of ``tensorflow.python.framework.ops`` that come from several modules here.

Source: tensorflow/python/framework/ops.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, NoReturn

from gpuplace.dtypes import as_dtype
from gpuplace.errors import UnimplementedError
from gpuplace.graph import convert, operation, stacks
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Tensor
from gpuplace.graphdef import messages
from gpuplace.graphdef.attr_values import decode_attr
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import find_gradient as get_gradient_function
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.variables.variables import Variable
from gpuplace.typing import DTypeLike

__all__ = [
    "EagerTensor", "Operation", "RegisterShape", "convert_to_tensor_or_composite",
    "executing_eagerly_outside_functions",
    "get_gradient_function", "get_name_scope", "has_default_graph", "is_dense_tensor_like", "name_scope_v2",
    "register_dense_tensor_like_type", "uid",
]  # fmt: skip


class _Constructor(type):
    """Metaclass of ``Operation``: operations of graphs are instances of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, operation.Operation)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, operation.Operation)

    def __getattr__(cls, name: str) -> Any:
        return getattr(operation.Operation, name)

    def __call__(
        cls,
        node_def: Any,
        g: Any,
        inputs: Any = None,
        output_types: Any = None,
        control_inputs: Any = None,
        input_types: Any = None,
        original_op: Any = None,
        op_def: Any = None,
    ) -> operation.Operation:
        """Return a new operation of a graph.

        Args:
            node_def: its ``NodeDef``: type, name, attributes and device.
            g: the graph.
            inputs: the input tensors, or None.
            output_types: the types of its outputs.
            control_inputs: the operations that must run before it.
            input_types: the types of its inputs, which mark references.
            original_op: ignored.
            op_def: ignored; the op type determines it.

        Raises:
            TypeError: ``node_def`` or ``g`` has another type.
            ValueError: the name is not a valid node name.
        """
        if not isinstance(node_def, messages.NodeDef):
            raise TypeError(f"node_def needs to be a NodeDef: {node_def}")
        if not isinstance(g, Graph):
            raise TypeError(f"g needs to be a Graph: {g}")
        if not _NAME.fullmatch(node_def.name):
            raise ValueError(f"'{node_def.name}' is not a valid node name")
        attrs = {key: decode_attr(value) for key, value in node_def.attr.items()}
        with g.as_default(), g.control_dependencies(control_inputs or []):
            new_operation = g.create_op(
                node_def.op, list(inputs or []), output_types, input_types, node_def.name, attrs
            )
        if node_def.device:
            new_operation._set_device(node_def.device)
        return new_operation


class Operation(metaclass=_Constructor):
    """A node of a graph, which can also be created from its message."""


_NAME = re.compile("[A-Za-z0-9.][A-Za-z0-9_.\\-/]*")
_uids = itertools.count(1)


def uid() -> int:
    """Return a number that is unique in this process."""
    return next(_uids)


class RegisterShape:
    """A decorator without effect, because ops have their own shape functions.

    Args:
        op_type: the op.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Return the function unchanged.

        Args:
            f: a function, or None.
        """
        return f


def _NodeDef(op_type: str, name: str, device: Any = None) -> Any:  # noqa: N802 - TensorFlow's name
    """Return the message of a node.

    Args:
        op_type: its op type.
        name: its name.
        device: the requested device, a name or a ``DeviceSpec``, or None.
    """
    node = messages.NodeDef(op=op_type, name=name)
    if device is not None:
        node.device = device if isinstance(device, str) else device.to_string()
    return node


_default_graph_stack = stacks.graph_stack
_default_session_stack = stacks.session_stack


def has_default_graph() -> bool:
    """Return whether this thread is in a block of ``graph.as_default()``."""
    return bool(stacks.graph_stack.stack)


def get_name_scope() -> str:
    """Return the name scope of the default graph, without the final slash."""
    return convert.get_default_graph().get_name_scope()


def executing_eagerly_outside_functions() -> bool:
    """Return False, because there are only graphs."""
    return False


_dense_types: list[type] = [Tensor]


def is_dense_tensor_like(t: Any) -> bool:
    """Return whether an object counts as a dense tensor: a tensor, a variable, or an instance of a registered class.

    Args:
        t: the object.
    """
    return isinstance(t, tuple(_dense_types)) or isinstance(t, Variable)


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Register a class whose objects count as dense tensors.

    Args:
        tensor_type: a class with properties ``name`` and ``dtype``.

    Raises:
        TypeError: the class lacks these properties.
    """
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")
    _dense_types.append(tensor_type)


def convert_to_tensor_or_composite(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Return a value as a tensor; sparse tensors and ``IndexedSlices`` stay as they are.

    Args:
        value: a value that ``tf.convert_to_tensor`` accepts, or such a composite.
        dtype: the type; None for the value's.
        name: name of the tensor's op.

    Raises:
        ValueError: a composite has another dtype.
    """
    if not isinstance(value, (IndexedSlices, SparseTensor)):
        return convert.convert_to_tensor(value, dtype=dtype, name=name)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {value.dtype.name}:"
            f" {value!r}"
        )
    return value


class name_scope_v2:  # noqa: N801 - TensorFlow's name
    """A name scope, as ``tf.name_scope`` with only a name.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._blocks: list[Any] = []

    @property
    def name(self) -> str:
        """The name that was passed in."""
        return self._name

    def __enter__(self) -> str:
        block = convert.get_default_graph().name_scope(self._name)
        self._blocks.append(block)
        scope: str = block.__enter__()
        return scope

    def __exit__(self, *error: Any) -> None:
        self._blocks.pop().__exit__(*error)


class EagerTensor:
    """The class of eager tensors, which do not exist here."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnimplementedError.of("Eager execution is not available: gpuplace reproduces TensorFlow 1")
