"""Operations and tensors: the nodes of a graph and the values on its edges.

An operation knows the device it *requested*. The placer decides where it runs; the graph does not record that.

Source: tensorflow/python/framework/ops.py, release 1.15 (names, properties and messages).
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuplace.callers import PACKAGE, RUNNER
from gpuplace.display import above, notebook_view, safe_text
from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError, OperatorNotAllowedInGraphError, OutOfRangeError
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.collections import check_not_finalized
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.source_text import TraceableObject, source_text
from gpuplace.graph.stacks import get_default_session
from gpuplace.shapes import TensorShape, as_shape, brackets
from gpuplace.typing import DTypeLike, FeedDict, Graph, NodeDef, ShapeLike, TensorLike

_MAX_FRAMES = 12
_own_files: set[str] = set()
"""Files of this package that have occurred in stacks."""

CLASS_ATTR = "_class"
_LOC_PREFIX = b"loc:@"


class Frame(NamedTuple):
    """A line of the Python stack that created an operation, like a frame of a Python traceback."""

    filename: str
    lineno: int
    name: str
    """First line of the function."""
    line: str | None
    """Text of the line, if the file can be read."""

    def __str__(self) -> str:
        return f"{self.filename}:{self.lineno}"


Stack = tuple[Any, ...]
"""Code object, position, ... from the innermost frame outwards; line numbers are computed on request."""


def capture_stack() -> Stack:
    """Return the stack frames, starting at the nearest caller outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if filename not in _own_files:
            if not filename.startswith(PACKAGE):
                break
            _own_files.add(filename)
        outer = frame.f_back
        if outer is None:  # no frame outside the package: use our outermost one
            break
        frame = outer
    found: list[Any] = []
    left = _MAX_FRAMES
    while frame is not None and left:
        found += (frame.f_code, frame.f_lasti)
        frame = frame.f_back
        left -= 1
    return tuple(found)


def program_line(obj: Any) -> TraceableObject:
    """Return an object together with the line of the nearest caller outside this package.

    Args:
        obj: the object.
    """
    code, position = capture_stack()[:2]
    return TraceableObject(obj, code.co_filename, _line_at(code, position))


def _lines(stack: Stack) -> list[tuple[CodeType, int]]:
    """Code objects with line numbers."""
    return [(code, _line_at(code, at)) for code, at in zip(stack[::2], stack[1::2], strict=True)]


def _text_of(code: CodeType, lineno: int) -> str | None:
    """Return the text of a line, stripped."""
    return linecache.getline(code.co_filename, lineno).strip() or None


def _line_at(code: CodeType, position: int) -> int:
    for start, end, line in code.co_lines():
        if start <= position < end and line is not None:
            return line
    return code.co_firstlineno


class Reference:
    """A reference to an object, equal to other references to the same object.

    Args:
        wrapped: the object.
    """

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Tensor:
        """Return the object."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            return NotImplemented
        return self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"


def override_operator(cls: type[Tensor], operator: str, function: Any) -> None:
    """Install an operator of tensors; the op library, which this layer cannot import, calls it.

    Args:
        cls: the class.
        operator: such as ``"__add__"``.
        function: the operator.
    """
    if operator not in cls.OVERLOADABLE_OPERATORS:
        raise ValueError(f"Overriding {operator} is disallowed")
    setattr(cls, operator, function)


class Tensor:
    """An output of an operation.

    Attributes:
        op: the operation that produces it.
        value_index: which of its outputs this is.
        dtype: element type; a reference type for the output of a reference variable.
        assign: for a slice of a variable: ``assign(value, name=None)`` assigns to that part.

    Args:
        op: the operation that produces it.
        value_index: output number, from 0.
        dtype: element type; a reference type for a reference variable.
        shape: known shape.
    """

    __slots__ = (
        "op",
        "value_index",
        "dtype",
        "_shape",
        "_consumers",
        "assign",
        "aliases",
        "__weakref__",
        "__dict__",
    )
    __array_priority__ = 100
    OVERLOADABLE_OPERATORS = frozenset(
        f"__{name}__"
        for name in (
            "add radd sub rsub mul rmul div rdiv truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul"
            " lt le gt ge and rand or ror xor rxor invert neg abs getitem"
        ).split()
    )

    aliases: list[str]
    if TYPE_CHECKING:  # installed by the op library
        assign: Any

        def __add__(self, other: TensorLike) -> Tensor: ...

        def __radd__(self, other: TensorLike) -> Tensor: ...

        def __sub__(self, other: TensorLike) -> Tensor: ...

        def __rsub__(self, other: TensorLike) -> Tensor: ...

        def __mul__(self, other: TensorLike) -> Tensor: ...

        def __rmul__(self, other: TensorLike) -> Tensor: ...

        def __div__(self, other: TensorLike) -> Tensor: ...

        def __rdiv__(self, other: TensorLike) -> Tensor: ...

        def __truediv__(self, other: TensorLike) -> Tensor: ...

        def __rtruediv__(self, other: TensorLike) -> Tensor: ...

        def __floordiv__(self, other: TensorLike) -> Tensor: ...

        def __rfloordiv__(self, other: TensorLike) -> Tensor: ...

        def __mod__(self, other: TensorLike) -> Tensor: ...

        def __rmod__(self, other: TensorLike) -> Tensor: ...

        def __lt__(self, other: TensorLike) -> Tensor: ...

        def __le__(self, other: TensorLike) -> Tensor: ...

        def __gt__(self, other: TensorLike) -> Tensor: ...

        def __ge__(self, other: TensorLike) -> Tensor: ...

        def __and__(self, other: TensorLike) -> Tensor: ...

        def __rand__(self, other: TensorLike) -> Tensor: ...

        def __or__(self, other: TensorLike) -> Tensor: ...

        def __ror__(self, other: TensorLike) -> Tensor: ...

        def __xor__(self, other: TensorLike) -> Tensor: ...

        def __rxor__(self, other: TensorLike) -> Tensor: ...

        def __pow__(self, other: TensorLike) -> Tensor: ...

        def __rpow__(self, other: TensorLike) -> Tensor: ...

        def __matmul__(self, other: TensorLike) -> Tensor: ...

        def __rmatmul__(self, other: TensorLike) -> Tensor: ...

        def __getitem__(self, key: Any) -> Tensor: ...

        def __invert__(self) -> Tensor: ...

        def __neg__(self) -> Tensor: ...

        def __abs__(self) -> Tensor: ...

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self._shape = shape
        self._consumers: list[Operation] | None = None  # see Graph._note_consumers

    @property
    def name(self) -> str:
        """``"<operation>:<output>"``."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The graph that holds the operation."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The device that the operation requested; ``""`` for none."""
        return self.op.device

    def _as_node_def_input(self) -> str:
        """The name in a consumer's inputs: without ``:0`` for output 0."""
        return self.name if self.value_index else self.op.name

    @property
    def _value_index(self) -> int:
        """TensorFlow's name for ``value_index``."""
        return self.value_index

    @property
    def shape(self) -> TensorShape:
        """The known shape."""
        return self._shape

    def _shape_tuple(self) -> tuple[int | None, ...] | None:
        """Return the sizes, or None for an unknown rank; TensorFlow's name."""
        return self._shape.sizes

    def get_shape(self) -> TensorShape:
        """The known shape."""
        return self._shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Merge more knowledge into the shape.

        Args:
            shape: a partially known shape, such as ``[None, 10]``.

        Raises:
            ValueError: it contradicts the known shape.
        """
        self._shape = self._shape.merge_with(as_shape(shape))

    def experimental_ref(self) -> Reference:
        """A hashable reference to this tensor, for sets and dictionary keys."""
        return Reference(self)

    def consumers(self) -> list[Operation]:
        """Return the operations that use this tensor, once for each such input."""
        self.op.graph._note_consumers()
        return list(self._consumers or ())

    def eval(self, feed_dict: FeedDict | None = None, session: Any = None) -> Any:
        """Run the graph to compute this tensor.

        Args:
            feed_dict: tensor -> value for this run; None: no feeds.
            session: session on this graph; None: the default session.

        Returns:
            The value: a NumPy array or scalar.

        Raises:
            ValueError: there is no session, or it runs another graph.
            OpError: see ``Session.run``.
        """
        return _session_for(self.graph, session, "evaluate tensor", "eval").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self._shape.ndims is None else f", shape={self._shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    __hash__ = object.__hash__  # by identity, like equality: dictionary lookups then run no Python code

    def __getattr__(self, name: str) -> Any:
        """``numpy``, a function that returns the value; only while tensors have values during construction."""
        evaluate = self.op.graph._evaluate if name == "numpy" else None
        if evaluate is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        return lambda: evaluate(self)[()]

    def __bool__(self) -> bool:
        if self.op.graph._evaluate is not None:
            return bool(self.op.graph._evaluate(self))
        raise self._not_allowed("using a `tf.Tensor` as a Python `bool`", "tf.cond")

    def __iter__(self) -> Iterator[Tensor]:
        raise self._not_allowed("iterating over `tf.Tensor`", "tf.map_fn")

    def _not_allowed(self, what: str, instead: str) -> OperatorNotAllowedInGraphError:
        if self.op.graph.is_func_graph:
            why = "AutoGraph is disabled in this function. Try decorating it directly with @tf.function."
            return OperatorNotAllowedInGraphError(f"{what} is not allowed: {why} {instead} takes functions.")
        why = "Use Eager execution or decorate this function with @tf.function."
        return OperatorNotAllowedInGraphError(
            f"{what} is not allowed in Graph execution. {why} {instead} takes functions."
        )

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for symbolic Tensors. ({self.name}) Please call `x.shape` rather than `len(x)`"
            f" for shape information: for the length at run time, use tf.shape({self.name!r})[0]"
        )

    def __array__(self, dtype: DTypeLike | None = None, copy: Any = None) -> Any:
        if self.op.graph._evaluate is not None:
            value = self.op.graph._evaluate(self)
            return value if dtype is None else value.astype(dtype)
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array: run it in a session."
        )

    _override_operator = classmethod(override_operator)

    _repr_mimebundle_ = notebook_view


def plain_attr(value: Any) -> Any:
    """Return the Python form of an attribute's value.

    Args:
        value: the value, perhaps an ``AttrValue``.
    """
    if type(value).__name__ != "AttrValue":
        return value
    return above("gpuplace.graphdef.attr_values", "decode_attr")(value)


def set_attr(op: Operation, name: str, value: Any) -> None:
    """Set an attribute.

    Args:
        op: the operation.
        name: the attribute's name.
        value: a Python value or an ``AttrValue``.
    """
    op.attrs[name] = plain_attr(value)
    op.graph.modification_count += 1


def add_to_consumers(op: Operation) -> None:
    """Add an operation to the consumers of its inputs.

    Args:
        op: the operation.
    """
    for tensor in op.inputs:
        _add_consumer(tensor, op)
    for control in op.controls:
        _add_control_output(control, op)


def _add_consumer(tensor: Tensor, op: Operation) -> None:
    if tensor._consumers is None:
        tensor._consumers = []
    tensor._consumers.append(op)


def _add_control_output(control: Operation, op: Operation) -> None:
    if control._control_outputs is None:
        control._control_outputs = []
    control._control_outputs.append(op)


def update_input(op: Operation, index: int, tensor: Tensor) -> None:
    """Replace an input, as back edges of loops require.

    Args:
        op: the operation.
        index: the position of the input, from 0.
        tensor: the new input.

    Raises:
        ValueError: The tensor belongs to another graph.
        OutOfRangeError: There is no such input.
        InvalidArgumentError: The shapes cannot be equal.
    """
    if tensor.graph is not op.graph:
        raise ValueError(f"{tensor!r} must be from the same graph as {op!r}.")
    if not 0 <= index < len(op.inputs):
        raise OutOfRangeError.of(
            f"Cannot update edge. Input index [{index}] is greater than the number of total inputs"
            f" [{len(op.inputs)}]."
        )
    current = op.inputs[index].shape
    if not current.is_compatible_with(tensor.shape):
        raise InvalidArgumentError.of(
            f"Cannot update edge, incompatible shapes: {brackets(tensor.shape)} and {brackets(current)}."
        )
    _prepare_change(op)
    consumers = op.inputs[index]._consumers
    assert consumers is not None
    consumers.remove(op)
    op.inputs = (*op.inputs[:index], tensor, *op.inputs[index + 1 :])
    _add_consumer(tensor, op)
    op.graph.modification_count += 1


def add_inputs(op: Operation, tensors: Sequence[Tensor]) -> None:
    """Append inputs; the caller must update the attribute with their types.

    Args:
        op: the operation.
        tensors: the inputs.
    """
    _prepare_change(op)
    op.inputs = (*op.inputs, *tensors)
    for tensor in tensors:
        _add_consumer(tensor, op)
    op.graph.modification_count += 1


def add_outputs(op: Operation, types: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
    """Append outputs; the caller changes the attribute with their types.

    Args:
        op: the operation.
        types: their dtypes.
        shapes: their shapes.
    """
    count = len(op.outputs)
    more = [
        Tensor(op, count + i, dtype, shape)
        for i, (dtype, shape) in enumerate(zip(types, shapes, strict=True))
    ]
    op.outputs = [*op.outputs, *more]
    op.graph.modification_count += 1


def add_controls(op: Operation, operations: Sequence[Operation]) -> None:
    """Add control edges into an operation.

    Args:
        op: the operation.
        operations: the operations that run before it.
    """
    _prepare_change(op)
    for operation in operations:
        if operation not in op.controls:
            op.controls = [*op.controls, operation]
            _add_control_output(operation, op)
    op.graph.modification_count += 1


def add_control(op: Operation, operation: Operation) -> None:
    """Add a control edge into an operation.

    Args:
        op: the operation.
        operation: the operation that runs before it.
    """
    add_controls(op, [operation])


def drop_controls(op: Operation) -> None:
    """Remove the control edges into an operation.

    Args:
        op: the operation.
    """
    op.graph._note_consumers()
    for operation in op.controls:
        assert operation._control_outputs is not None
        operation._control_outputs.remove(op)
    op.controls = []
    op.graph.modification_count += 1


def _prepare_change(op: Operation) -> None:
    """Complete the lists of consumers, which the change of an edge updates.

    The caller counts the change afterwards: a session that reads the graph meanwhile must not take it for the new one.
    """
    check_not_finalized(op.graph)
    op.graph._note_consumers()


def context_of(op: Operation) -> Any:
    """Return the branch of a conditional or the loop that an operation is in, or None.

    Args:
        op: the operation.
    """
    return op.graph.scopes.contexts.get(op)


def set_context(op: Operation, context: Any) -> None:
    """Set the branch or loop that an operation is in.

    Args:
        op: the operation.
        context: the branch or loop, or None.
    """
    op.graph.scopes.contexts[op] = context


class Operation:
    """A node of a graph, created by ``Graph.create_op``.

    Attributes:
        graph: the graph that holds it.
        name: unique in the graph.
        type: op type, such as ``"MatMul"``.
        op_def: its signature; None for a call of a library function by name.
        inputs: the tensors it takes, in the order of the signature.
        attrs: attribute name to Python value (see ``attr_value``), defaults included.
        index: position in the graph.
        controls: the operations of ``control_inputs``, not a copy.
        device_scopes: ``tf.device`` scopes around it, innermost first.
        extra_fields: other serialized fields of an imported ``NodeDef`` (types inferred by newer releases, debug
            information); empty for other operations.

    Args:
        graph: the graph that holds it.
        name: name, unique in the graph.
        op_type: its op type.
        op_def: signature; None for a call of a library function by name.
        inputs: input tensors, in signature order.
        control_inputs: operations that run before it.
        attrs: attribute name -> Python value (see ``attr_value``), complete with defaults.
    """

    __slots__ = (
        "graph", "name", "type", "op_def", "inputs", "outputs", "attrs", "index", "device_scopes", "controls",
        "_control_outputs", "_device", "_colocations", "_stack", "extra_fields", "__weakref__", "__dict__",
    )  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        name: str,
        op_type: str,
        op_def: OpDef | None,
        inputs: tuple[Tensor, ...],
        control_inputs: Sequence[Operation],
        attrs: dict[str, Any],
    ) -> None:
        self.graph = graph
        self.name = name
        self.type = op_type
        self.op_def = op_def
        self.inputs = inputs
        self.attrs = attrs
        self.outputs: list[Tensor] = []
        self.index = -1
        self.device_scopes: tuple[Any, ...] = ()
        self.controls = control_inputs
        self._control_outputs: list[Operation] | None = None  # see Graph._note_consumers
        self.extra_fields = b""
        self._device = ""
        self._colocations: Sequence[TraceableObject] = ()
        self._stack: Stack = ()

    @property
    def device(self) -> str:
        """The requested device; ``""`` for none."""
        return self._device

    def _set_device(self, device: Any) -> None:
        """Replace the requested device with a name or ``DeviceSpec``."""
        self._device = device if isinstance(device, str) else device.to_string()
        self.graph.modification_count += 1

    @property
    def control_inputs(self) -> list[Operation]:
        """Operations that must run before this one, besides the producers of its inputs."""
        return list(self.controls)

    @property
    def control_outputs(self) -> list[Operation]:
        """Operations that must wait for this one, besides the consumers of its outputs."""
        self.graph._note_consumers()
        return list(self._control_outputs or ())

    def values(self) -> tuple[Tensor, ...]:
        """Return the outputs."""
        return tuple(self.outputs)

    def get_attr(self, name: str) -> Any:
        """Return the value of an attribute.

        Args:
            name: name such as ``"T"``.

        Returns:
            A type, number, bool or bytes; for a tensor, shape or function its message; or a list of these.

        Raises:
            ValueError: the operation has no such attribute.
        """
        try:
            value = self.attrs[name]
        except KeyError:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.") from None
        first = value[0] if isinstance(value, tuple) and value else value
        if not isinstance(first, (TensorShape, TensorValue, FunctionRef)):
            return list(value) if isinstance(value, tuple) else value
        return above("gpuplace.graphdef.attr_values", "attr_messages")(value)

    def colocation_groups(self) -> list[bytes]:
        """Return the colocation groups of this operation; by default its own, ``loc:@<name>``."""
        groups = [g for g in self.attrs.get(CLASS_ATTR, ()) if g.startswith(_LOC_PREFIX)]
        return groups or [_LOC_PREFIX + self.name.encode()]

    @property
    def traceback(self) -> list[Frame]:
        """The stack that created the operation, innermost call last."""
        return [
            Frame(code.co_filename, lineno, code.co_name, _text_of(code, lineno))
            for code, lineno in self._program_lines()
        ]

    @property
    def traceback_with_start_lines(self) -> list[tuple[Any, ...]]:
        """The same stack, with each function's first line added to its entry."""
        starts = [code.co_firstlineno for code, _ in self._program_lines()]
        return [(*frame, start) for frame, start in zip(self.traceback, starts, strict=True)]

    def _program_lines(self) -> list[tuple[CodeType, int]]:
        """Code and line numbers, innermost call last, without the frames of `gpuplace run`."""
        found = takewhile(lambda line: line[0].co_filename != RUNNER, _lines(self._stack))
        return list(found)[::-1]

    @property
    def _device_assignments(self) -> list[TraceableObject]:
        """The devices of the ``tf.device`` blocks around it, innermost first, with their lines."""
        return [TraceableObject(one.shown, one.filename, one.lineno) for one in self.device_scopes]

    @property
    def _colocation_dict(self) -> dict[str, TraceableObject]:
        """Operation name -> line of the ``colocate_with`` block around this one that names it."""
        return {one.obj.name: one.copy_metadata() for one in self._colocations}

    @property
    def source(self) -> str | None:
        """``file:line`` or ``In[3]:line`` of the call outside this package that created it; None if imported."""
        if not self._stack:
            return None
        code, position = self._stack[:2]
        return source_text(code.co_filename, _line_at(code, position))

    def run(self, feed_dict: FeedDict | None = None, session: Any = None) -> None:
        """Run this operation.

        Args:
            feed_dict: tensor -> value for this run; None: no feeds.
            session: session on this graph; None: the default session.

        Raises:
            ValueError: there is no session, or it runs another graph.
            OpError: see ``Session.run``.
        """
        _session_for(self.graph, session, "execute operation", "run").run(self, feed_dict)

    _set_attr = set_attr
    _update_input = update_input
    _add_outputs = add_outputs
    _add_control_input = add_control
    _add_control_inputs = add_controls
    _remove_all_control_inputs = drop_controls
    _get_control_flow_context = context_of
    _set_control_flow_context = set_context

    def __repr__(self) -> str:
        return safe_text(f"<tf.Operation '{self.name}' type={self.type}>")

    @property
    def node_def(self) -> NodeDef:
        """Return the operation as a ``NodeDef``."""
        node_def = above("gpuplace.graphdef.export", "node_def")

        return node_def(self)

    def __str__(self) -> str:
        return str(self.node_def)

    _repr_mimebundle_ = notebook_view


def _session_for(graph: Graph, session: Any, action: str, method: str) -> Any:
    """Return the session to use; ValueError if there is none or it runs another graph."""
    if session is None:
        session = get_default_session()
        if session is None:
            raise ValueError(
                f"Cannot {action} using `{method}()`: No default session is registered. Use `with"
                f" sess.as_default()` or pass an"
                f" explicit session to `{method}(session=sess)`"
            )
        kind = "the default session's graph"
    else:
        kind = "the session's graph"
    if session.graph is not graph:
        raise ValueError(
            f"Cannot use the {'default' if kind.startswith('the default') else 'given'} session to {action}: the"
            f" {'tensor' if 'tensor' in action else 'operation'}'s graph is different from {kind}."
            " Pass an explicit session to `{0}(session=sess)`.".format(method)
        )
    return session
