"""The dataflow graph: operations with unique names, created within scopes.

>>> graph = Graph()
>>> with graph.as_default(), graph.device("/gpu:1"), graph.name_scope("tower"):
...     op = graph.create_op("NoOp", [])
>>> op.name, op.device
('tower/NoOp', '/device:GPU:1')

Source: tensorflow/python/framework/ops.py, release 1.15 (naming, scopes, colocation, messages).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuplace.callers import warn
from gpuplace.device.spec import canonical_name
from gpuplace.display import above, notebook_view, safe_text
from gpuplace.dtypes import DType
from gpuplace.graph.collections import Collections, check_not_finalized
from gpuplace.graph.op_def import OpDef, op_registry
from gpuplace.graph.operation import (
    CLASS_ATTR,
    Operation,
    Tensor,
    add_to_consumers,
    capture_stack,
    plain_attr,
)
from gpuplace.graph.scopes import (
    VALID_OP_NAME,
    ColocationBlock,
    ControlDependenciesBlock,
    DeviceBlock,
    NameScope,
    Scopes,
    Stacks,
    attr_scope,
    building_context,
    control_inputs_for,
    make_device_scope,
    set_building_context,
)
from gpuplace.graph.shape_inference import infer_shapes
from gpuplace.graph.signature import signature_of
from gpuplace.graph.stacks import Pushed, graph_stack
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE
from gpuplace.typing import DeviceLike, GraphDef, OperationLike, VersionDef

DEFAULT_GRAPH_SEED = 87654321
GRAPH_DEF_VERSIONS = {"1.15": 134, "2.21": 2474}
"""TensorFlow release -> the GraphDef version that it writes."""


@dataclass
class GraphVersions:
    """GraphDef versions: which TensorFlow wrote a graph, and which can read it."""

    producer: int
    min_consumer: int = 0
    bad_consumers: tuple[int, ...] = ()


def name_from_scope_name(name: str) -> str:
    """Return a scope name without its trailing slash."""
    return name[:-1] if name.endswith("/") else name


class Graph(Collections):
    """A dataflow graph.

    Several threads can add operations. Each thread has its own name scope, loops and branches. Devices, colocations and
    control dependencies belong to the graph, as in TensorFlow, until ``switch_to_thread_local`` gives each thread its
    own.
    """

    is_traced = False
    """Whether the graph is the body of a function; see ``gpuplace.graph.traced_graph``."""
    _building_function = False
    """Whether ``init_scope`` leaves the graph, as it leaves function bodies."""
    is_func_graph = False
    """Whether the graph belongs to a ``tf.function``, whose loops and conditionals are function calls."""
    adds_control_dependencies = False
    """Whether the graph belongs to a function that runs stateful operations in program order."""
    _evaluate: Callable[[Tensor], Any] | None = None
    """Returns the values of tensors during construction, where tensors have values: in ``tf.py_function``."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()
        """Held while operations are added."""
        self._operations: list[Operation] = []
        self.by_name: dict[str, Operation] = {}
        """Operation name to operation."""
        self._names_in_use: dict[str, int] = {}
        self.scopes = Scopes()
        """The scopes of new operations, and the branches and loops of operations."""
        self._finalized = False
        self.modification_count = 0
        """A number that changes whenever operations, edges, devices or attributes do."""
        self._last_id = 0
        self._noted = 0
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self.versions = GraphVersions(GRAPH_DEF_VERSIONS[rules()])
        self.seed: int | None = None
        self.functions: dict[str, bytes] = {}
        """Library functions: name -> serialized ``FunctionDef``."""
        self.function_bodies: dict[str, Any] = {}
        """Library functions: name -> graph of the function (``FunctionBody``), if it was built already."""
        self.gradient_functions: dict[str, str] = {}
        """Library functions: name -> name of the gradient function."""
        self.function_op_defs: dict[str, OpDef] = {}
        """Signatures of the library functions, for nodes that call a function by name."""
        self.attached: dict[Any, Any] = {}
        """Data that other modules keep for the life of the graph, under their own keys. Dictionaries with weak keys
        will not do, because their callbacks drop the exception of a signal handler."""
        self._read_as: Any = None
        """The placer's arrays of the graph and their version, for `gpuplace.placer.from_graph`."""

    # Operations

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Sequence[DType] | None = None,
        input_types: Sequence[DType] | None = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: OpDef | None = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation.

        Args:
            op_type: op type.
            inputs: tensors of this graph, in signature order, with lists flattened.
            dtypes: output types; None: those of the signature.
            input_types: ignored; kept for TensorFlow's argument order.
            name: name, made unique. A name that ends in a slash is used unchanged, without the slash. None: the op
                type.
            attrs: attribute values in their Python form or as ``AttrValue``; missing ones have their defaults.
            op_def: signature of the op; None: looked up.
            compute_shapes: infer the output shapes.
            compute_device: apply the device scopes.

        Returns:
            The operation.

        Raises:
            gpuplace.errors.NotFoundError: no op of this type is registered.
            ValueError: the name is invalid, an input belongs to another graph, or the shapes do not match.
            RuntimeError: the graph is finalized.
        """
        if op_def is None:
            op_def = self.function_op_defs.get(op_type) or op_registry().lookup(op_type)
        _check_same_graph(self, inputs)
        with self.lock:
            check_not_finalized(self)
            if name is None or name == "":
                name = op_type
            elif isinstance(name, bytes):
                name = name.decode()
            unique = name[:-1] if name[-1] == "/" else self.unique_name(name)
            if not VALID_OP_NAME.fullmatch(unique):
                raise ValueError(f"'{safe_text(unique)}' is not a valid node name")
            values = {key: plain_attr(value) for key, value in attrs.items()} if attrs else {}
            for key, value in op_def.defaults.items():
                if key not in values:
                    values[key] = value
            return self._add_op(
                unique, op_type, op_def, tuple(inputs), values, dtypes, compute_shapes, compute_device
            )

    def _add_op(
        self,
        name: str,
        op_type: str,
        op_def: OpDef,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        dtypes: Sequence[DType] | None = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation with a valid name, inputs of this graph and complete attributes."""
        with self.lock:
            if self._finalized:
                check_not_finalized(self)
            if name in self.by_name:
                raise ValueError(f"Duplicate node name in graph: '{name}'")
            if op_def.deprecation is not None:
                removal = op_def.removal(self.versions.producer)
                if removal is not None:
                    raise NotImplementedError(removal)
            scopes = self.scopes
            stacks = scopes.stacks()
            controls = control_inputs_for(stacks.controls, inputs) if stacks.controls else ()
            op = Operation(self, name, op_type, op_def, inputs, controls, attrs)
            if scopes.attrs or scopes.kernel_labels or scopes.gradient_overrides or scopes.container:
                scopes.apply_attrs(op)
            if dtypes is None:
                try:
                    dtypes = signature_of(op_def).output_types(attrs)
                except KeyError as error:
                    raise ValueError(
                        f"NodeDef missing attr {error} from Op<{op_def}>; node: {name}"
                    ) from None
            make_outputs(op, dtypes, compute_shapes)
            if compute_device and stacks.devices:
                stacks.apply_devices(op)
            if stacks.colocations:
                self._apply_colocation(op)
            op._stack = capture_stack()
            register(self, op, stacks)
            if scopes.of_thread.context is not None or scopes.contexts:
                self._add_to_context(op)
            return op

    def _add_to_context(self, op: Operation) -> None:
        """Add an operation to the branch or loop under construction, which may redirect its inputs."""
        context, contexts = self.scopes.of_thread.context, self.scopes.contexts
        if context is not None:
            contexts[op] = context
        for tensor in op.inputs:
            if tensor.op in contexts:
                contexts[tensor.op].check_use(tensor.op, op)
        if context is not None:
            context.add_op(op)

    def _note_consumers(self) -> None:
        """Update the lists of consumers, which few programs need, with the operations added since the last call."""
        with self.lock:
            operations = self._operations
            for index in range(self._noted, len(operations)):
                add_to_consumers(operations[index])
            self._noted = len(operations)

    def _apply_colocation(self, op: Operation) -> None:
        groups: set[bytes] = set()
        op._colocations = self.scopes.stacks().colocations[::-1]
        for other in [one.obj for one in op._colocations]:
            groups.update(other.colocation_groups())
            if other.device:
                if op.device and canonical_name(op.device) != canonical_name(other.device):
                    warn(
                        f"Tried to colocate {op.name} with an op {other.name} that had a different device:"
                        f" {op.device} vs"
                        f" {other.device}. Postponing error-checking until all devices are assigned."
                    )
                else:
                    op._device = other.device
        op.attrs[CLASS_ATTR] = tuple(sorted(groups))

    def origin_of(self, op: Operation) -> Tensor | None:
        """Return the captured outer tensor that an operation stands for; None outside function bodies.

        Args:
            op: the operation.
        """
        return None

    def get_operations(self) -> list[Operation]:
        """Return all operations in creation order."""
        return list(self._operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation with a name.

        Args:
            name: name such as ``"tower/MatMul"``.

        Raises:
            KeyError: there is no such operation.
            TypeError: ``name`` is not a string.
            ValueError: ``name`` is a tensor name.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor with a name.

        Args:
            name: ``"<operation>:<output>"``.

        Raises:
            KeyError: there is no such tensor.
            TypeError: ``name`` is not a string.
            ValueError: ``name`` is not a tensor name.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Return the tensor or operation of this graph that an object represents.

        Args:
            obj: a name (``"op"``, ``"op:0"``), a tensor, an operation, or a convertible object such as a variable.
            allow_tensor: whether the result may be a tensor.
            allow_operation: whether the result may be an operation.

        Raises:
            KeyError: there is no such name.
            TypeError: ``obj`` is none of these.
            ValueError: ``obj`` belongs to another graph, or the name has the wrong form.
        """
        if not allow_tensor and not allow_operation:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        wanted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            converted = convert()
            obj = obj if converted is None else converted
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation)
        if isinstance(obj, Tensor) and allow_tensor or isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"{type(obj).__name__} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _element_by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Operation | Tensor:
        if ":" in name:
            if not allow_tensor:
                raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
            op_name, _, output = name.rpartition(":")
            if ":" in op_name or not output.isdecimal():
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names"
                    f' must be of the form "<op_name>:<output_index>".'
                )
            op = self.by_name.get(op_name)
            if op is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation,"
                    f" {op_name!r}, does not exist in the graph."
                )
            if int(output) >= len(op.outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation,"
                    f" {op_name!r}, exists but only has {len(op.outputs)} outputs."
                )
            return op.outputs[int(output)]
        op = self.by_name.get(name)
        if op is not None and allow_operation:
            return op
        if not allow_operation:
            if op is not None:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the"
                    f' form "<op_name>:<output_index>".'
                )
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must"
                f' be of the form "<op_name>:<output_index>".'
            )
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")

    # Names

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return an unused operation name within the current name scope.

        >>> graph = Graph()
        >>> graph.unique_name("x"), graph.unique_name("X")
        ('x', 'X_1')

        Args:
            name: requested name; ``_1``, ``_2``, ... is appended if it is in use, ignoring case.
            mark_as_used: reserve the name.
        """
        if isinstance(name, bytes):
            name = name.decode()
        with self.lock:
            scope = self.scopes.of_thread.name_stack
            if scope:
                name = f"{scope}/{name}"
            key = name.lower()
            count = self._names_in_use.get(key, 0)
            if mark_as_used:
                self._names_in_use[key] = count + 1
            if count > 0:
                base = key
                while key in self._names_in_use:
                    key = f"{base}_{count}"
                    count += 1
                if mark_as_used:
                    self._names_in_use[key] = 1
                name = f"{name}_{count - 1}"
            return name

    def name_scope(self, name: str | None) -> NameScope:
        """Prefix the names of operations made in the ``with`` block.

        >>> graph = Graph()
        >>> with graph.name_scope("tower") as scope:
        ...     scope, graph.unique_name("x")
        ('tower/', 'tower/x')

        Args:
            name: name of the scope, made unique. A name that ends in a slash re-enters that scope; None or ``""``
                returns to the outermost scope.

        Returns:
            A context manager that yields the scope's name with a trailing slash.

        Raises:
            ValueError: on entry: the name contains characters that TensorFlow does not allow.
        """
        return NameScope(self, name)

    def get_name_scope(self) -> str:
        """Return the current name scope of this thread, without a trailing slash."""
        return self.scopes.of_thread.name_stack

    # Scopes

    def switch_to_thread_local(self) -> None:
        """Give each thread its own devices, colocations and control dependencies from now on.

        A thread's scopes start as a copy of the graph's current scopes. Without this call, a scope that one thread
        enters applies to all threads.

        >>> graph = Graph()
        >>> graph.switch_to_thread_local()
        >>> with graph.device("/gpu:1"):
        ...     elsewhere = threading.Thread(target=graph.create_op, args=("NoOp", []), kwargs={"name": "elsewhere"})
        ...     elsewhere.start()
        ...     elsewhere.join()
        ...     here = graph.create_op("NoOp", [], name="here")
        >>> here.device, graph.get_operation_by_name("elsewhere").device
        ('/device:GPU:1', '')
        """
        self.scopes.are_thread_local = True

    def as_default(self) -> Pushed[Graph]:
        """Make this graph the thread's default graph within a ``with`` block."""
        return graph_stack.push(self)

    def device(self, device_name_or_function: DeviceLike) -> DeviceBlock:
        """Request this device for operations created in the ``with`` block.

        Args:
            device_name_or_function: a name such as ``"/gpu:1"`` or a ``DeviceSpec``, which inner scopes override part
                by part; a function from operation to device, whose result replaces the device; or None to ignore outer
                scopes.

        Raises:
            ValueError: the name is malformed.
            TypeError: the argument is none of these.
        """
        return DeviceBlock(self, make_device_scope(device_name_or_function, 2))

    def colocate_with(self, op: OperationLike | None, ignore_existing: bool = False) -> ColocationBlock:
        """Colocate operations created in the ``with`` block with ``op``; outer device scopes do not apply.

        Args:
            op: operation, tensor or variable; None, together with ``ignore_existing``, ends outer colocations.
            ignore_existing: ignore outer colocations.

        Raises:
            ValueError: ``op`` is None without ``ignore_existing``, or belongs to another graph.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        if op is None:
            return ColocationBlock(self, [], ignore_existing)
        return ColocationBlock(self, [self._operation_beside(op)], ignore_existing)

    def _operation_beside(self, item: Any) -> Operation:
        """Return the operation to colocate with."""
        return self._operation_of(item)

    def control_dependencies(
        self, control_inputs: Iterable[OperationLike] | None
    ) -> ControlDependenciesBlock:
        """Run operations created in the ``with`` block after ``control_inputs``.

        Args:
            control_inputs: list of operations and tensors of this graph; None ends outer blocks.

        Raises:
            TypeError: an element is neither an operation nor a tensor.
            ValueError: an element belongs to another graph.
        """
        if control_inputs is None:
            return ControlDependenciesBlock(self, None)
        current = self.scopes.stacks().control_inputs()
        controls: dict[Operation, None] = {}
        for item in control_inputs:
            if hasattr(item, "_handle") and hasattr(item, "op"):
                item = item.op  # for a resource variable, its handle, not a read of it
            op = self._operation_of(item)
            if op not in current:
                controls[op] = None
        return ControlDependenciesBlock(self, list(controls))

    def _operation_of(self, item: Any) -> Operation:
        """Return the operation that an object represents, or that of its first tensor."""
        if not isinstance(item, (Operation, Tensor, str)) and not hasattr(item, "_as_graph_element"):
            made_by = getattr(item, "op", None)
            item = made_by if isinstance(made_by, Operation) else item
        element = self.as_graph_element(item)
        operation: Operation = element.op if isinstance(element, Tensor) else element
        return operation

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Keep the state of stateful operations created in the ``with`` block in this container.

        Args:
            container_name: name of the container; ``""`` is the default container.
        """
        outer, self.scopes.container = self.scopes.container, container_name
        try:
            yield container_name
        finally:
            self.scopes.container = outer

    _attr_scope = attr_scope
    _get_control_flow_context = building_context
    _set_control_flow_context = set_building_context

    @contextlib.contextmanager
    def _kernel_label_map(self, labels: Mapping[str, str]) -> Iterator[None]:
        """Request kernels with a label, by op type, for operations created in the block."""
        outer = self.scopes.kernel_labels
        self.scopes.kernel_labels = {**outer, **labels}
        try:
            yield
        finally:
            self.scopes.kernel_labels = outer

    @contextlib.contextmanager
    def gradient_override_map(self, overrides: Mapping[str, str]) -> Iterator[None]:
        """Use other gradient functions for operations created in the ``with`` block.

        Args:
            overrides: op type -> the name that the gradient function was registered under.
        """
        outer = self.scopes.gradient_overrides
        self.scopes.gradient_overrides = {**outer, **overrides}
        try:
            yield
        finally:
            self.scopes.gradient_overrides = outer

    # State

    @property
    def version(self) -> int:
        """A number that grows with each operation added."""
        return self._last_id

    @property
    def building_function(self) -> bool:
        """Whether this is the graph of a function's body."""
        return self._building_function

    @property
    def finalized(self) -> bool:
        """Whether the graph can no longer be changed."""
        return self._finalized

    def finalize(self) -> None:
        """Make each further change an error (RuntimeError)."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbid feeding a tensor.

        Args:
            tensor: tensor of this graph.
        """
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether a tensor may be fed.

        Args:
            tensor: tensor of this graph.
        """
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Forbid fetching an operation and its outputs.

        Args:
            op: operation of this graph.
        """
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Return whether a tensor or operation may be fetched.

        Args:
            tensor_or_op: tensor or operation of this graph.
        """
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    def __len__(self) -> int:
        return len(self._operations)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, element: object) -> bool:
        return isinstance(element, (Tensor, Operation)) and element.graph is self

    # Messages and notebooks

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Return the graph as a ``GraphDef``; other threads cannot add operations meanwhile.

        Args:
            from_version: leave out operations that existed at this ``graph.version``; None: include all.
            add_shapes: add the ``_output_shapes`` attribute to each node.
        """
        as_graph_def = above("gpuplace.graphdef.export", "as_graph_def")

        with self.lock:
            return as_graph_def(self, from_version, add_shapes)

    @property
    def graph_def_versions(self) -> VersionDef:
        """Return the graph's versions as a ``VersionDef``."""
        version_def = above("gpuplace.graphdef.export", "version_def")

        return version_def(self)

    _repr_mimebundle_ = notebook_view


def register(graph: Graph, op: Operation, stacks: Stacks | None = None) -> None:
    """Add a complete operation to the tables of its graph.

    Args:
        graph: graph that gets the operation.
        op: the operation.
        stacks: the scopes that it is in; None: the current ones of its graph.
    """
    op.index = len(graph._operations)
    graph._operations.append(op)
    graph.by_name[op.name] = op
    graph._last_id += 1
    graph.modification_count += 1
    for scope in (stacks or graph.scopes.stacks()).controls:
        scope.add_op(op)


def make_outputs(op: Operation, dtypes: Sequence[DType], compute_shapes: bool = True) -> None:
    """Create the outputs of a new operation.

    Args:
        op: the operation.
        dtypes: their dtypes.
        compute_shapes: infer their shapes; otherwise they are unknown.
    """
    count = len(dtypes)
    shapes = infer_shapes(op, count) if compute_shapes else (UNKNOWN_SHAPE,) * count
    if count == 1:
        op.outputs = [Tensor(op, 0, dtypes[0], shapes[0])]
    else:
        op.outputs = [Tensor(op, i, dtype, shapes[i]) for i, dtype in enumerate(dtypes)]


def _check_same_graph(graph: Graph, inputs: Sequence[Tensor]) -> None:
    """Raise ValueError for an input of another graph."""
    for tensor in inputs:
        if tensor.op.graph is not graph:
            raise ValueError(f"{tensor!r} must be from the same graph as this graph, {graph!r}.")
