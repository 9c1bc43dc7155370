"""``import_graph_def``: the nodes of a ``GraphDef`` as operations of a graph.

Everything is checked before the graph is modified, so a failed import leaves it unchanged. A node is created when its
inputs exist, in order of position; the back edge of a loop (NextIteration into Merge) is connected at the end.

        graph_def          order of creation
    0  loop (Merge) <--+     1  (waits for `enter` only)
    1  enter           |     0
    2  next ----------+     2, then closed into `loop`

Source: tensorflow/python/framework/importer.py and tensorflow/core/graph/graph_constructor.cc, release 1.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuplace.device.spec import DeviceSpec
from gpuplace.display import safe_text
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.collections import check_not_finalized
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph import Graph, make_outputs, register
from gpuplace.graph.op_def import OpDef, OpRegistry, input_count_fault, op_registry, signature_fault
from gpuplace.graph.operation import CLASS_ATTR, Operation, Tensor, capture_stack
from gpuplace.graphdef.attr_values import decode_op_def
from gpuplace.graphdef.functions import function_exists, functions_by_name
from gpuplace.graphdef.imported_node import ImportedNode, NodeReader, check_versions, topological_order
from gpuplace.graphdef.load import load_graph_def
from gpuplace.graphdef.messages import DecodeError, EncodeError, FunctionDef, GraphDef, Message
from gpuplace.placer.placement_graph import split_tensor_name
from gpuplace.release import rules

_MAX_OUTPUTS = 1 << 20
"""Maximum total number of outputs; each node adds 16 to it, and each input one."""
_MAX_SCOPES = 1 << 16
"""Maximum total length of all scopes of a name in characters; each character of the name adds 16."""
_SHORT_SCOPE = 1 << 8
"""Length up to which a scope is always recorded, in characters."""
_LOC = b"loc:@"


def import_graph_def(
    graph_def: GraphDef,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of ``graph_def`` to the default graph.

    Args:
        graph_def: a ``GraphDef``, of this package or TensorFlow's.
        input_map: ``"node:output"``, ``"node"`` or ``"^node"`` -> tensor (or operation) to use instead; None: no
            replacements.
        return_elements: names of nodes (``"a"``) and tensors (``"a:0"``) to return, or None.
        name: prefix of the names; None: ``"import"``; empty: no prefix.
        op_dict: ignored, as in TensorFlow.
        producer_op_list: ignored, since the attributes that newer releases added and their defaults are known.

    Returns:
        A list of the operations and tensors named by ``return_elements``, or None.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: the graph is invalid (a cycle, a duplicate name, an unknown input, mismatching types, ...).
        NotFoundError: an op type is not registered.
    """
    message = _as_graph_def(graph_def)
    texts = (str, bytes)
    if not isinstance(input_map or {}, Mapping) or not all(isinstance(key, texts) for key in input_map or ()):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    mapping = {_as_text(key): value for key, value in (input_map or {}).items()}
    if return_elements is not None:
        elements: tuple[Any, ...]
        try:
            elements = tuple(return_elements)
        except TypeError:
            elements = (None,)
        if not all(isinstance(element, texts) for element in elements):
            raise TypeError("return_elements must be a list of strings.")
        return_elements = [_as_text(element) for element in elements]
    graph = get_default_graph()
    tensors = [value for value in mapping.values() if isinstance(value, Tensor)]
    with without_garbage_collection(), name_scope(name, "import", tensors) as scope:
        replaced = _replacements(graph, mapping, scope)
        try:
            run = _Import(graph, message, scope[:-1] if scope else "", replaced)
            run.check_mapping(mapping)
            requested = [run.check_return_element(element) for element in return_elements or ()]
            run.make_operations()
        except InvalidArgumentError as error:
            raise ValueError(
                safe_text(error.with_facts(error.message))
            ) from None  # with the runtime's tags, as in TensorFlow
        run.commit()
        return None if return_elements is None else [run.result(*element) for element in requested]


def _as_text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _as_graph_def(graph_def: GraphDef) -> GraphDef:
    if isinstance(graph_def, GraphDef):
        return graph_def
    if isinstance(graph_def, Message) and graph_def.DESCRIPTOR.name == "GraphDef":
        return load_graph_def(graph_def)
    raise TypeError("graph_def must be a GraphDef proto.")


def _key(text: str) -> tuple[str, int]:
    """``(node, output)``; output -1 for a control input."""
    return (text[1:], -1) if text.startswith("^") else split_tensor_name(text)


def _replacements(graph: Graph, mapping: Mapping[str, Any], scope: str) -> dict[tuple[str, int], Any]:
    """Return the replacements of inputs; values that are not tensors become constants."""
    plain = [
        value for key, value in mapping.items() if not key.startswith("^") and not isinstance(value, Tensor)
    ]
    if plain and not scope:
        raise ValueError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. Try calling"
            " tf.convert_to_tensor() on `input_map` values before calling tf.import_graph_def()."
        )
    replaced: dict[tuple[str, int], Any] = {}
    with graph.name_scope("_inputs") if plain else contextlib.nullcontext():
        for key, value in mapping.items():
            if key.startswith("^"):
                element = graph.as_graph_element(value)
                replaced[_key(key)] = element.op if isinstance(element, Tensor) else element
            else:
                replaced[_key(key)] = convert_to_tensor(value)
    return replaced


def _names_and_prefixes(names: Iterable[str]) -> set[str]:
    """Return the names of operations and all their scopes, none of which an imported node may get."""
    taken: set[str] = set()
    for name in names:
        while name and name not in taken:
            taken.add(name)
            name = name.rpartition("/")[0]
    return taken


class _Import:
    """One call of ``import_graph_def``."""

    def __init__(
        self, graph: Graph, message: GraphDef, prefix: str, replaced: dict[tuple[str, int], Any]
    ) -> None:
        self.graph = graph
        self.message = message
        self.prefix = prefix
        self.replaced = replaced
        self.made: dict[str, Operation] = {}
        self.in_order: list[Operation] = []
        self.taken: list[str] = []
        self._names: dict[str, str] = {}
        """Node name -> name in the graph."""
        check_versions(message.versions)
        self.functions = functions_by_name(message.library.function, op_registry())
        function_defs = {name: decode_op_def(function.signature) for name, function in self.functions.items()}
        for name, function in self.functions.items():
            _check_depth(function)
            existing = graph.functions.get(name)
            if existing is not None and existing != function.SerializeToString(deterministic=True):
                raise function_exists(name)
        self.function_defs = function_defs
        reader = NodeReader(self._op_defs, message.versions.producer)
        self.nodes: list[ImportedNode] = []
        names: set[str] = set()
        for proto in message.node:
            name = proto.name
            if name in names:
                raise InvalidArgumentError.of(f"Node '{name}' is not unique")
            names.add(name)
            self.nodes.append(reader.read(proto))
        self.by_name = {node.name: node for node in self.nodes}

    def _op_defs(self, op_type: str, node: str) -> tuple[OpDef, OpDef | None]:
        """Return the signature of an op type, and that of newer releases if different."""
        registry, newer = op_registry(), op_registry("2.21")
        op_def = self.function_defs.get(op_type)
        if op_def is not None:
            fault = signature_fault(op_def)
            if fault is not None:
                raise InvalidArgumentError.of(f"{fault}; in OpDef of '{op_type}'", facts={"node": node})
        else:
            op_def = self.graph.function_op_defs.get(op_type) or registry.lookup(op_type)
        return op_def, newer.get(op_type) if newer is not registry else None

    def check_mapping(self, mapping: Mapping[str, Any]) -> None:
        """Raise ValueError for keys of ``input_map`` that do not exist in the graph."""
        if not mapping:
            return
        used = {source for node in self.nodes for source in node.inputs}
        used |= {(control, -1) for node in self.nodes for control in node.control_inputs}
        missing = [key for key in mapping if _key(key) not in used and not self._exists(*_key(key))]
        if missing:
            raise ValueError(
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]"
            )

    def _exists(self, name: str, output: int) -> bool:
        node = self.by_name.get(name)
        return node is not None and (output < 0 or output < len(node.kind.output_types()))

    def check_return_element(self, element: str) -> tuple[str, int | None]:
        """Return node and output (None: the operation) of a return element; ValueError if it does not exist."""
        name, colon, output = element.rpartition(":")
        if ":" in name or (colon and not output.isdecimal()):
            raise ValueError(f"Cannot convert {element!r} to a tensor name.")
        source = split_tensor_name(element) if colon else (element, None)
        if source not in self.replaced and not self._exists(
            source[0], -1 if source[1] is None else source[1]
        ):
            kind = "node" if source[1] is None else "tensor"
            if source[1] is not None and self._exists(source[0], -1):
                count = len(self.by_name[source[0]].kind.output_types())
                raise ValueError(
                    f"Invalid return output {source[1]} of node '{source[0]}', which has {count} output(s)"
                )
            raise ValueError(f"Requested return {kind} {element!r} not found in graph def")
        return source

    def result(self, name: str, output: int | None) -> Any:
        """Return the operation or tensor of a checked return element."""
        if output is None:
            return self.made[name]
        return self.replaced.get((name, output)) or self.made[name].outputs[output]

    def make_operations(self) -> None:
        """Create the operations outside the graph's tables; InvalidArgumentError or ValueError if one is invalid."""
        graph = self.graph
        check_not_finalized(graph)
        stack = capture_stack()
        names = self._names = self._unique_names()
        left = _MAX_OUTPUTS + 16 * len(self.nodes) + sum(len(node.inputs) for node in self.nodes)
        tensors: dict[tuple[str, int], Tensor] = {}
        renamed: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}
        looping: list[int] = []
        for index in topological_order(
            self.nodes, self.replaced, lambda index: list(self.message.node[index].input)
        ):
            node = self.nodes[index]
            kind = node.kind
            inputs: list[Tensor | None]
            try:
                inputs = [tensors[source] for source in node.inputs]
            except KeyError:
                inputs = [self._input(node, *source) for source in node.inputs]
            present = tuple([tensor for tensor in inputs if tensor is not None])
            if len(present) < len(inputs):
                looping.append(index)
            if not kind.takes(present):
                self._check_inputs(node, inputs)
            controls: list[Operation] = []
            if node.control_inputs:
                controls = list(dict.fromkeys(map(self._control, node.control_inputs)))
            attrs = dict(kind.attrs)
            groups = node.groups
            if groups is not None:
                if groups not in renamed:
                    renamed[groups] = tuple([self._group(group, names) for group in groups])
                attrs[CLASS_ATTR] = renamed[groups]
            op = Operation(graph, names[node.name], node.op_type, kind.op_def, present, controls, attrs)
            outputs = kind.output_types()
            left -= len(outputs)
            if left < 0:
                raise _too_many_outputs(node, len(outputs))
            make_outputs(op, outputs, compute_shapes=len(present) == len(inputs))
            if kind.output_shapes is not None and len(kind.output_shapes) == len(outputs):
                for tensor, shape in zip(op.outputs, kind.output_shapes):
                    with contextlib.suppress(ValueError):  # an older graph may contain less specific shapes
                        tensor.set_shape(shape)
            op._device = node.device
            op.extra_fields = kind.extra_fields
            op._stack = stack
            self.made[node.name] = op
            self.in_order.append(op)
            if not self.replaced:
                for tensor in op.outputs:
                    tensors[node.name, tensor.value_index] = tensor
        for index in sorted(looping):
            node = self.nodes[index]
            op = self.made[node.name]
            op.inputs = tuple(self._input(node, *source) for source in node.inputs)  # type: ignore[misc]
            self._check_inputs(node, op.inputs)
        self._set_devices()

    def _unique_names(self) -> dict[str, str]:
        """Return the name of each node in the graph; names are reserved only by ``commit``."""
        prefix = f"{self.prefix}/" if self.prefix else ""
        in_use = self.graph._names_in_use
        result: dict[str, str] = {node.name: prefix + node.name for node in self.nodes}
        lowered = {name.lower() for name in result.values()}
        if len(lowered) == len(result) and in_use.keys().isdisjoint(lowered):
            self.taken = list(lowered)
            return result
        taken = _names_and_prefixes(self.graph.by_name)
        counts: dict[str, int] = {}
        for node in self.nodes:
            base = chosen = prefix + node.name
            if base in taken:
                count = counts.get(base, 0)
                while chosen in taken:
                    count += 1
                    chosen = f"{base}_{count}"
                counts[base] = count
            taken.add(chosen)
            result[node.name] = chosen
        self.taken = [name.lower() for name in result.values()]
        return result

    def _input(self, node: ImportedNode, source: str, output: int) -> Tensor | None:
        """Return the tensor of an input; None for the back edge of a loop whose source does not exist yet."""
        if (source, output) in self.replaced:
            return self.replaced[source, output]
        op = self.made.get(source)
        if op is None:
            return None
        if output >= len(op.outputs):
            raise InvalidArgumentError.of(
                f"Node '{node.name}': Connecting to invalid output {output} of source node {source} which has"
                f" {len(op.outputs)} outputs. Try using tf.compat.v1.experimental.output_all_intermediates(True)."
            )
        return op.outputs[output]

    def _control(self, name: str) -> Operation:
        return self.replaced.get((name, -1)) or self.made[name]

    def _check_inputs(self, node: ImportedNode, inputs: Sequence[Tensor | None]) -> None:
        try:
            input_types = node.kind.input_types()
        except KeyError as error:
            raise InvalidArgumentError.of(
                f"NodeDef missing attr {error} from Op<{node.op_def}>; NodeDef: {{{{node {node.name}}}}}"
            ) from None
        if len(input_types) != len(inputs):
            raise InvalidArgumentError.of(input_count_fault(node.op_def, input_types, len(inputs), node.name))
        for index, (dtype, tensor) in enumerate(zip(input_types, inputs)):
            if (
                tensor is None
                or dtype is tensor.dtype
                or (not dtype.is_ref_dtype and dtype is tensor.dtype.base_dtype)
            ):
                continue
            raise InvalidArgumentError.of(
                f"Input {index} of node {self._names[node.name]} was passed {tensor.dtype.short_name} from"
                f" {tensor.name} incompatible with expected {dtype.short_name}."
            )

    def _group(self, group: bytes, names: Mapping[str, str]) -> bytes:
        if not group.startswith(_LOC):
            return group
        name = group[len(_LOC) :].decode(errors="replace")
        renamed = names.get(name) or (f"{self.prefix}/{name}" if self.prefix else name)
        return _LOC + renamed.encode()

    def _set_devices(self) -> None:
        """Merge the device scopes into the nodes' devices; colocated nodes take the device of a node in their "
        "group."""
        graph = self.graph
        colocated: list[tuple[Operation, list[str]]] = []
        canonical: dict[str, str] = {}
        stacks = graph.scopes.stacks()
        for op in self.in_order:
            groups = op.attrs.get(CLASS_ATTR, ())
            others = [name for group in groups if (name := _other_node(group, op.name))]
            original, op._device = op._device, ""
            if others:
                colocated.append((op, others))
                continue
            if original:
                if original not in canonical:
                    canonical[original] = DeviceSpec.from_string(original).to_string()
                op._device = canonical[original]
            if stacks.devices:
                stacks.apply_devices(op)
        by_name = {op.name: op for op in self.in_order}
        for op, others in colocated:
            for name in others:
                other = by_name.get(name) or graph.by_name.get(name)
                if other is None:
                    if rules() == "2.21" or graph.is_func_graph:  # the node may be in an outer graph
                        continue
                    node, wanted = (text.removeprefix(f"{self.prefix}/") for text in (op.name, name))
                    raise ValueError(
                        f"Node '{node}' expects to be colocated with unknown node '{safe_text(wanted)}'"
                    )
                if other.device:
                    op._device = other.device
                    break

    def commit(self) -> None:
        """Add all operations to the graph; this cannot fail."""
        graph = self.graph
        with graph.lock:
            _add_functions(graph, self.functions, self.function_defs, self.message.library)
            versions = self.message.versions
            graph.versions.producer = min(graph.versions.producer, versions.producer)
            graph.versions.min_consumer = max(graph.versions.min_consumer, versions.min_consumer)
            graph.versions.bad_consumers = tuple(
                sorted({*graph.versions.bad_consumers, *versions.bad_consumers})
            )
            in_use = graph._names_in_use
            for name in self.taken:
                in_use.setdefault(name, 1)
            noted: set[str] = set()
            for op in self.in_order:
                outer = op.name[: op.name.rfind("/") + 1]
                if outer and outer not in noted:
                    for part in _scopes_of(op.name):
                        in_use.setdefault(part, 1)
                    if len(outer) < _SHORT_SCOPE:
                        noted.add(outer)
                register(graph, op)


def _too_many_outputs(node: ImportedNode, count: int) -> ResourceExhaustedError:
    return ResourceExhaustedError.of(
        f"Node '{node.name}' ({node.op_type}) and the nodes before it have too many outputs for a graph of this size",
        facts={
            "outputs of the node": str(count),
            "allowed": f"{_MAX_OUTPUTS} in total; a node counts as 16, an input as 1",
        },
        hint="check the length that the node declares; gpuplace.place() creates no tensors and accepts it",
    )


def _check_depth(function: Any) -> None:
    """Raise InvalidArgumentError for a function that could be serialized but not parsed again."""
    try:
        FunctionDef.FromString(function.SerializeToString())
    except (DecodeError, EncodeError) as error:
        raise InvalidArgumentError.of(
            f"Function '{function.signature.name}' cannot be read", facts={"because": str(error)}
        ) from None


def _other_node(group: bytes, own: str) -> str | None:
    """Return the node that a ``_class`` entry refers to; None for the node itself or another kind of entry."""
    name = group[len(_LOC) :].decode(errors="replace") if group.startswith(_LOC) else own
    return None if name == own else name


def _scopes_of(name: str) -> list[str]:
    """Return the lower-case name scopes of a name, which later scopes of the same name must avoid.

    The innermost scopes of a name with very many scopes are omitted: all together would be far longer than the name.
    """
    lower, scopes, left = name.lower(), [], _MAX_SCOPES + 16 * len(name)
    at = lower.find("/")
    while at >= 0 and left >= at:
        scopes.append(lower[:at])
        left -= at
        at = lower.find("/", at + 1)
    return scopes


def add_library(graph: Graph, library: Any, ops: OpRegistry) -> None:
    """Add the functions of a library to a graph.

    Args:
        graph: graph to extend.
        library: a `FunctionDefLibrary`.
        ops: registered ops.

    Raises:
        InvalidArgumentError: a function has the name of an op, or two different functions have the same name.
    """
    functions = functions_by_name(library.function, ops)
    op_defs = {name: decode_op_def(function.signature) for name, function in functions.items()}
    _add_functions(graph, functions, op_defs, library)


def _add_functions(
    graph: Graph, functions: Mapping[str, Any], op_defs: Mapping[str, OpDef], library: Any
) -> None:
    for name, function in functions.items():
        graph.functions[name] = function.SerializeToString(deterministic=True)
    graph.function_op_defs.update(op_defs)
    for gradient in library.gradient:
        graph.gradient_functions[gradient.function_name] = gradient.gradient_func
