"""The dataflow graph: operations under unique names, made within scopes.

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
"""The GraphDef version that each release writes."""


@dataclass
class GraphVersions:
    """Which TensorFlow made a graph, and which can read it, as GraphDef versions."""

    producer: int
    min_consumer: int = 0
    bad_consumers: tuple[int, ...] = ()


def name_from_scope_name(name: str) -> str:
    """The operation name in a scope name: without the slash at its end."""
    return name[:-1] if name.endswith("/") else name


class Graph(Collections):
    """A dataflow graph.

    Operations can be added from several threads. Each has a name scope, and builds loops and branches, of its own;
    devices, colocations and control dependencies belong to the graph, as in TensorFlow, until
    ``switch_to_thread_local`` gives each thread its own.
    """

    is_traced = False
    """Whether it is the body of a function, see ``gpuplace.graph.traced_graph``."""
    _building_function = False
    """Whether ``init_scope`` leaves it, as it does bodies of functions."""
    is_func_graph = False
    """Whether it is that of a ``tf.function``, in which loops and conditionals are calls of functions."""
    adds_control_dependencies = False
    """Whether it is that of a function whose stateful operations run in the order of the program."""
    _evaluate: Callable[[Tensor], Any] | None = None
    """Gives the values of tensors while the graph is made, where they have values: in ``tf.py_function``."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()
        """Held while operations are added."""
        self._operations: list[Operation] = []
        self.by_name: dict[str, Operation] = {}
        """Operation name to operation."""
        self._names_in_use: dict[str, int] = {}
        self.scopes = Scopes()
        """The scopes that new operations are in, and the branches and loops of operations."""
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
        """Library functions: name to serialised ``FunctionDef``."""
        self.function_bodies: dict[str, Any] = {}
        """Library functions: name to the graph of the function (``FunctionBody``), where it was made already."""
        self.gradient_functions: dict[str, str] = {}
        """Library functions: name to the name of the gradient."""
        self.function_op_defs: dict[str, OpDef] = {}
        """Signatures of the library functions, for nodes that call one by name."""
        self.attached: dict[Any, Any] = {}
        """What other modules keep of the graph as long as it lives, by keys of theirs. Not in dictionaries with weak
        keys, whose callbacks would drop the exception of a signal handler."""
        self._read_as: Any = None
        """What a placer has read it as, and when: `gpuplace.placer.from_graph`'s."""

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
        """Adds an operation.

        Args:
            op_type: its type.
            inputs: tensors of this graph, in the order of the signature, lists flattened.
            dtypes: types of the outputs; from the signature if None.
            input_types: ignored; kept for TensorFlow's argument order.
            name: its name, made unique; taken as it is, without the slash, where it ends in one. None: the type.
            attrs: attribute values in their Python form, or as ``AttrValue``; defaults are filled in.
            op_def: its signature; looked up if None.
            compute_shapes: infer the shapes of the outputs.
            compute_device: apply the device scopes.

        Returns:
            The operation.

        Raises:
            gpuplace.errors.NotFoundError: no op of this type is registered.
            ValueError: an invalid name, an input of another graph, or shapes that do not fit.
            RuntimeError: the graph is finalised.
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
        """Adds an operation of which the name is valid, the inputs are of this graph and the attributes complete."""
        with self.lock:
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
            register(self, op)
            if scopes.of_thread.context is not None or scopes.contexts:
                self._add_to_context(op)
            return op

    def _add_to_context(self, op: Operation) -> None:
        """Makes an operation part of the branch or loop that is being built, which may redirect its inputs."""
        context, contexts = self.scopes.of_thread.context, self.scopes.contexts
        if context is not None:
            contexts[op] = context
        for tensor in op.inputs:
            if tensor.op in contexts:
                contexts[tensor.op].check_use(tensor.op, op)
        if context is not None:
            context.add_op(op)

    def _note_consumers(self) -> None:
        """Completes the lists of consumers, which few programs ask for, by the operations since the last time."""
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
        """The tensor of a graph around this one that an operation stands for; None: only functions have such ones.

        Args:
            op: the operation.
        """
        return None

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were made."""
        return list(self._operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the operation of that name.

        Args:
            name: such as ``"tower/MatMul"``.

        Raises:
            KeyError: there is none.
            TypeError: ``name`` is not a string.
            ValueError: it is the name of a tensor.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor of that name.

        Args:
            name: ``"<operation>:<output>"``.

        Raises:
            KeyError: there is none.
            TypeError: ``name`` is not a string.
            ValueError: it is not the name of a tensor.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Returns the tensor or operation of this graph that something stands for.

        Args:
            obj: a name (``"op"``, ``"op:0"``), a tensor, an operation, or something convertible such as a variable.
            allow_tensor: whether it may be a tensor.
            allow_operation: whether it may be an operation.

        Raises:
            KeyError: no such name.
            TypeError: ``obj`` is nothing of the kind.
            ValueError: an element of another graph, or a name of the wrong kind.
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

    def _element_by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
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
        """Returns a name within the current name scope that no operation has.

        >>> graph = Graph()
        >>> graph.unique_name("x"), graph.unique_name("X")
        ('x', 'X_1')

        Args:
            name: the name wanted; ``_1``, ``_2``, ... is added where it is taken. Case does not distinguish.
            mark_as_used: take the name, so that nobody else gets it.
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
        """Prefixes the names of operations made in the ``with`` block.

        >>> graph = Graph()
        >>> with graph.name_scope("tower") as scope:
        ...     scope, graph.unique_name("x")
        ('tower/', 'tower/x')

        Args:
            name: the scope's, made unique; one that ends in a slash re-enters a scope; None or ``""`` goes back to the
                outermost one.

        Returns:
            A context manager that gives the scope's own name, with a slash at its end.

        Raises:
            ValueError: when entered: the name has characters that TensorFlow does not allow.
        """
        return NameScope(self, name)

    def get_name_scope(self) -> str:
        """The current name scope of this thread, without a slash at its end."""
        return self.scopes.of_thread.name_stack

    # Scopes

    def switch_to_thread_local(self) -> None:
        """Gives each thread devices, colocations and control dependencies of its own, from now on.

        A thread's scopes start as those of the graph are now; without this call, what one thread enters holds for all.

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
        """Makes this the thread's default graph within a ``with`` block."""
        return graph_stack.push(self)

    def device(self, device_name_or_function: DeviceLike) -> DeviceBlock:
        """Operations made in the ``with`` block request this device.

        Args:
            device_name_or_function: a name such as ``"/gpu:1"`` or a ``DeviceSpec``, whose parts those of inner scopes
                override; a function from operation to device, which decides alone; or None, to ignore outer scopes.

        Raises:
            ValueError: the name is malformed.
            TypeError: it is nothing of the kind.
        """
        return DeviceBlock(self, make_device_scope(device_name_or_function, 2))

    def colocate_with(self, op: OperationLike | None, ignore_existing: bool = False) -> ColocationBlock:
        """Operations made in the ``with`` block are placed where ``op`` is; outer device scopes do not apply.

        Args:
            op: an operation, tensor or variable; None, together with ``ignore_existing``, ends outer colocations.
            ignore_existing: forget outer colocations.

        Raises:
            ValueError: ``op`` is None without ``ignore_existing``, or of another graph.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        if op is None:
            return ColocationBlock(self, [], ignore_existing)
        return ColocationBlock(self, [self._operation_beside(op)], ignore_existing)

    def _operation_beside(self, item: Any) -> Operation:
        """The operation that others are placed with."""
        return self._operation_of(item)

    def control_dependencies(
        self, control_inputs: Iterable[OperationLike] | None
    ) -> ControlDependenciesBlock:
        """Operations made in the ``with`` block run after others.

        Args:
            control_inputs: a list of operations and tensors of this graph; None ends outer blocks.

        Raises:
            TypeError: an element is neither operation nor tensor.
            ValueError: one is of another graph.
        """
        if control_inputs is None:
            return ControlDependenciesBlock(self, None)
        current = self.scopes.stacks().control_inputs()
        controls: dict[Operation, None] = {}
        for item in control_inputs:
            if hasattr(item, "_handle") and hasattr(item, "op"):
                item = item.op  # a resource variable: its handle, not a read of it
            op = self._operation_of(item)
            if op not in current:
                controls[op] = None
        return ControlDependenciesBlock(self, list(controls))

    def _operation_of(self, item: Any) -> Operation:
        """The operation that something stands for; of several tensors that belong together, that of the first."""
        if not isinstance(item, (Operation, Tensor, str)) and not hasattr(item, "_as_graph_element"):
            made_by = getattr(item, "op", None)
            item = made_by if isinstance(made_by, Operation) else item
        element = self.as_graph_element(item)
        operation: Operation = element.op if isinstance(element, Tensor) else element
        return operation

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Stateful operations made in the ``with`` block keep their state in this container.

        Args:
            container_name: its name; ``""`` is the default one.
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
        """Asks for kernels with a label, per op type, for operations made inside."""
        outer = self.scopes.kernel_labels
        self.scopes.kernel_labels = {**outer, **labels}
        try:
            yield
        finally:
            self.scopes.kernel_labels = outer

    @contextlib.contextmanager
    def gradient_override_map(self, overrides: Mapping[str, str]) -> Iterator[None]:
        """Operations made in the ``with`` block get other gradient functions.

        Args:
            overrides: op type to the name that the function was registered under.
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
        """A number that grows with every operation added."""
        return self._last_id

    @property
    def building_function(self) -> bool:
        """Whether this is the graph of a function's body."""
        return self._building_function

    @property
    def finalized(self) -> bool:
        """Whether the graph may no longer change."""
        return self._finalized

    def finalize(self) -> None:
        """Makes every further change an error (RuntimeError)."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Makes feeding a tensor an error.

        Args:
            tensor: of this graph.
        """
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a tensor may be fed.

        Args:
            tensor: of this graph.
        """
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Makes fetching an operation and its outputs an error.

        Args:
            op: of this graph.
        """
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Whether a tensor or operation may be fetched.

        Args:
            tensor_or_op: of this graph.
        """
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    def __len__(self) -> int:
        return len(self._operations)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, element: object) -> bool:
        return isinstance(element, (Tensor, Operation)) and element.graph is self

    # As messages, and in notebooks

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Returns the graph as a ``GraphDef``; other threads add nothing to it meanwhile.

        Args:
            from_version: leave out the operations that were there at this ``graph.version``; None: all are in.
            add_shapes: give every node an ``_output_shapes`` attribute.
        """
        as_graph_def = above("gpuplace.graphdef.export", "as_graph_def")

        with self.lock:
            return as_graph_def(self, from_version, add_shapes)

    @property
    def graph_def_versions(self) -> VersionDef:
        """The graph's versions as a ``VersionDef``."""
        version_def = above("gpuplace.graphdef.export", "version_def")

        return version_def(self)

    _repr_mimebundle_ = notebook_view


def register(graph: Graph, op: Operation) -> None:
    """Add a complete operation to the tables of its graph.

    Args:
        graph: the graph.
        op: the operation.
    """
    op.index = len(graph._operations)
    graph._operations.append(op)
    graph.by_name[op.name] = op
    graph._last_id += 1
    graph.modification_count += 1
    for scope in graph.scopes.stacks().controls:
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
    """ValueError for an input of another graph."""
    for tensor in inputs:
        if tensor.op.graph is not graph:
            raise ValueError(f"{tensor!r} must be from the same graph as this graph, {graph!r}.")
