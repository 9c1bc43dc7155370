"""A step divided among tasks: for each a graph of its own, with ``_Send`` and ``_Recv`` where edges are cut.

::

    /job:ps/task:0        w ──> read ──> _Send ─ ─ ─┐         ┌ ─ > _Recv ──> ApplyGradientDescent
    /job:worker/task:0                        _Recv <┘──> MatMul ──> ... ──> _Send

Every graph lists its nodes in one order of the whole step: a ``_Send`` right after what it sends, a ``_Recv`` right
before its first consumer. So a task that runs its nodes one after the other never waits for another that waits for it.
Constants are not sent; each task that needs one has it. Of a conditional whose branches run on other tasks it is sent
too that a branch was not taken. A loop runs on one task.

What a graph gets beside the program's own nodes is named as TensorFlow's master names it: ``y_S2`` sends ``y`` and
``y_S3`` receives it. Where a node only waits for another task's, an empty tensor is sent::

    y ──> y_S4 = Const ──> y_S5 = _Send        y_S6 = _Recv ──> y_S7 = Identity ──> nodes that wait for y

Source: tensorflow/core/graph/graph_partition.cc and core/distributed_runtime/master_session.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuplace import release as releases
from gpuplace.dtypes import float32
from gpuplace.errors import UnimplementedError
from gpuplace.graph.op_sets import ALL_SWITCHES, ENTERS, EXITS, MAY_BE_DEAD, RECEIVED_SHAPE
from gpuplace.graph.operation import CLASS_ATTR, Operation, Tensor
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.graphdef.export import add_library, node_def, version_def
from gpuplace.graphdef.messages import GraphDef
from gpuplace.plan.compile import Signature
from gpuplace.plan.schedule.loop_frames import Frames
from gpuplace.plan.schedule.pruning import pruned_with_loops


def task_of_device(device: str) -> str:
    """The task of a device: ``/job:ps/replica:0/task:1`` of ``/job:ps/replica:0/task:1/device:CPU:0``."""
    return device.rpartition("/device:")[0]


@dataclass
class Part:
    """What one task does in a step."""

    task: str
    """Its name."""
    graph_def: Any = field(default_factory=GraphDef)
    """The nodes, on full devices."""
    feeds: dict[int, str] = field(default_factory=dict)
    """Position of a tensor that the session feeds -> the placeholder in its place."""
    fetches: dict[int, str] = field(default_factory=dict)
    """Position of a fetch -> name of its tensor."""
    targets: list[str] = field(default_factory=list)
    """Names of operations that have to run."""


def divided(
    signature: Signature, device_of: Callable[[Operation], str], done: frozenset[Operation] = frozenset()
) -> dict[str, Part]:
    """The parts of a step, by task.

    Args:
        signature: what to fetch, run and feed.
        device_of: the placement.
        done: what has run already, in an earlier piece of the step.

    Raises:
        UnimplementedError: a loop would run on several tasks.
        InvalidArgumentError: the operations form a cycle.
    """
    return _Division(signature, device_of, done).parts()


class _Division:
    """One step that is divided."""

    def __init__(
        self, signature: Signature, device_of: Callable[[Operation], str], done: frozenset[Operation]
    ) -> None:
        self._fetches, self._targets, feeds = signature
        self._fed = {tensor: position for position, tensor in enumerate(feeds)}
        operations, frames = pruned_with_loops(self._fetches, self._targets, self._fed)
        operations = [op for op in operations if op not in done]
        self._operations = operations
        self._device = {op: device_of(op) for op in operations}
        self._in_loops: set[Operation] = set()
        if frames is not None:
            self._keep_loops_together(frames)
        self._task = {op: task_of_device(device) for op, device in self._device.items()}
        self._parts: dict[str, Part] = {}
        self._copied: set[tuple[Operation, str]] = set()
        self._received: dict[tuple[Tensor | Operation, str], str] = {}
        self._conditional: set[Operation] = set()
        self._names = {op.name for op in operations}
        self._numbers = 0
        self._first: dict[tuple[Tensor | Operation, str], int] = {}
        self._signal = "" if releases.rules() == "1.15" else "/ctrl"

    def _keep_loops_together(self, frames: Frames) -> None:
        """Moves what enters a loop to the loop's task, and refuses loops on several."""
        tasks: dict[Any, dict[str, Operation]] = {}
        for op in self._operations:
            path = frames.path(op)
            if path:
                self._in_loops.add(op)
                tasks.setdefault(path[0], {}).setdefault(task_of_device(self._device[op]), op)
        for frame, found in tasks.items():
            if len(found) > 1:
                facts = {f"on {task}": f"{op.name} ({op.type})" for task, op in found.items()}
                raise UnimplementedError.of(
                    f"The loop '{frame.name}' would run on {len(found)} tasks.",
                    facts=facts,
                    hint="put all of the loop on one task: with tf.device('/job:worker/task:0'): tf.while_loop(...)",
                )
        for op in self._operations:
            if op.type in ENTERS and op not in self._in_loops:
                self._device[op] = next(
                    self._device[taker] for taker in op.outputs[0].consumers() if taker in self._device
                )

    def parts(self) -> dict[str, Part]:
        """The parts."""
        leaving = self._leaving()
        for op in self._operations:
            self._add(op, self._part(self._task[op]))
            for crossing in leaving.get(op, ()):
                self._add_send(op, *crossing)
        for position, tensor in enumerate(self._fetches):
            if tensor not in self._fed:
                self._part(self._task[tensor.op]).fetches[position] = tensor.name
        for op in self._targets:
            if op in self._task:
                self._part(self._task[op]).targets.append(op.name)
        for part in self._parts.values():
            graph = self._operations[0].graph
            part.graph_def.versions.CopyFrom(version_def(graph))
            add_library(graph, part.graph_def)
        return self._parts

    def _part(self, task: str) -> Part:
        if task not in self._parts:
            self._parts[task] = Part(task)
        return self._parts[task]

    def _is_copied(self, op: Operation) -> bool:
        return op.type == "Const" and not op.control_inputs and op not in self._in_loops

    def _controls(self, op: Operation) -> Iterable[Operation]:
        return (control for control in op.control_inputs if control in self._task)

    def _leaving(self) -> dict[Operation, dict[tuple[Tensor | None, str], None]]:
        """Operation -> what it sends: a tensor, or None for its end, and the receiving task."""
        found: dict[Operation, dict[tuple[Tensor | None, str], None]] = {}
        for op in self._operations:
            sources = [tensor.op for tensor in op.inputs if tensor not in self._fed]
            if op.type in ALL_SWITCHES and op not in self._in_loops:
                self._conditional.add(op)
            elif any(source in self._conditional for source in (*sources, *self._controls(op))):
                self._conditional.add(op)
            task = self._task[op]
            needed: list[tuple[Operation, Tensor | None]] = [
                (tensor.op, tensor) for tensor in op.inputs if tensor not in self._fed
            ]
            needed += [(control, None) for control in self._controls(op)]
            for source, tensor in needed:
                if self._task[source] != task and not self._is_copied(source):
                    if op in self._in_loops or (source in self._in_loops and source.type not in EXITS):
                        raise UnimplementedError.of(
                            f"'{op.name}' is in a loop, and needs '{source.name}' of another task in every iteration.",
                            hint="compute it on the loop's task, or before the loop",
                        )
                    found.setdefault(source, {})[tensor, task] = None
        return found

    # Nodes

    def _add(self, op: Operation, part: Part) -> None:
        inputs = [self._source(tensor, part) for tensor in op.inputs]
        inputs += [f"^{self._control(control, part)}" for control in self._controls(op)]
        node = node_def(op, part.graph_def.node.add())
        del node.input[:]
        node.input.extend(inputs)
        node.device = self._device[op]
        node.attr.pop(CLASS_ATTR, None)

    def _source(self, tensor: Tensor, part: Part) -> str:
        """The node and output in a part that gives a tensor."""
        if tensor in self._fed:
            return self._placeholder(tensor, part)
        source = tensor.op
        if self._task[source] == part.task:
            return _reference(tensor)
        if self._is_copied(source):
            self._add_copy(source, part)
            return _reference(tensor)
        return (
            self._received[tensor, part.task] if self._is_there(tensor, part) else self._receive(tensor, part)
        )

    def _control(self, op: Operation, part: Part) -> str:
        """The node in a part that ends when an operation has."""
        if self._task[op] == part.task:
            return op.name
        if self._is_copied(op):
            self._add_copy(op, part)
            return op.name
        return self._received[op, part.task] if self._is_there(op, part) else self._receive(op, part)

    def _is_there(self, key: Tensor | Operation, part: Part) -> bool:
        return (key, part.task) in self._received

    def _add_copy(self, op: Operation, part: Part) -> None:
        if (op, part.task) not in self._copied:
            self._copied.add((op, part.task))
            node = node_def(op, part.graph_def.node.add())
            node.device = _cpu(part.task)
            node.attr.pop(CLASS_ATTR, None)

    def _placeholder(self, tensor: Tensor, part: Part) -> str:
        position = self._fed[tensor]
        if position not in part.feeds:
            name = f"{tensor.op.name}_F{tensor.value_index}"
            while name in self._names:
                name += "_"
            part.feeds[position] = name
            node = part.graph_def.node.add(name=name, op="Placeholder", device=_cpu(part.task))
            encode_attr(tensor.dtype.base_dtype, node.attr["dtype"])
            encode_attr(tensor.shape, node.attr["shape"])
        return part.feeds[position]

    def _names_of(self, key: Tensor | Operation, task: str) -> list[str]:
        """The names of the nodes between a task and what it needs of another: two for a tensor, four for a signal."""
        is_tensor = isinstance(key, Tensor)
        name = key.op.name if isinstance(key, Tensor) else key.name
        count = 2 if is_tensor else 4

        def made(first: int) -> list[str]:
            names = [f"{name}_S{first + place}" for place in range(count)]
            if not is_tensor:
                names[0] = f"{name}{self._signal}_S{first}"
            return names

        if (key, task) not in self._first:
            while not self._names.isdisjoint(made(self._numbers)):
                self._numbers += 1
            self._first[key, task] = self._numbers
            self._numbers += count
        return made(self._first[key, task])

    def _edge(self, key: Tensor | Operation, task: str) -> dict[str, Any]:
        """The attributes that the two ends of an edge have in common."""
        op = key.op if isinstance(key, Tensor) else key
        return {
            "tensor_name": f"edge_{self._first[key, task]}_{op.name}".encode(),
            "send_device": _cpu(self._task[op]).encode(),
            "send_device_incarnation": 1,
            "recv_device": _cpu(task).encode(),
            "client_terminated": False,
        }

    def _receive(self, key: Tensor | Operation, part: Part) -> str:
        """Adds the receiving end of an edge; the node that gives the tensor, or ends when it is there."""
        op = key.op if isinstance(key, Tensor) else key
        names = self._names_of(key, part.task)
        name = names[1] if isinstance(key, Tensor) else names[2]
        node = part.graph_def.node.add(name=name, op="_Recv", device=_cpu(part.task))
        dtype = key.dtype.base_dtype if isinstance(key, Tensor) else float32
        attrs = {"tensor_type": dtype, **self._edge(key, part.task)}
        if isinstance(key, Tensor):
            attrs[RECEIVED_SHAPE] = key.shape
        if op in self._conditional:
            attrs[MAY_BE_DEAD] = True
        _encode(attrs, node)
        if not isinstance(key, Tensor):
            node = part.graph_def.node.add(name=names[3], op="Identity", device=_cpu(part.task), input=[name])
            _encode({"T": dtype}, node)
            name = names[3]
        self._received[key, part.task] = name
        return name

    def _add_send(self, op: Operation, tensor: Tensor | None, task: str) -> None:
        """Adds the sending end of an edge, and for a control edge a constant to send."""
        part = self._part(self._task[op])
        key = op if tensor is None else tensor
        names = self._names_of(key, task)
        if tensor is None:
            source, name = names[:2]
            node = part.graph_def.node.add(
                name=source, op="Const", device=_cpu(part.task), input=[f"^{op.name}"]
            )
            node.attr["dtype"].type = float32.as_datatype_enum
            node.attr["value"].tensor.dtype = float32.as_datatype_enum
            node.attr["value"].tensor.tensor_shape.dim.add(size=0)
        else:
            source, name = _reference(tensor), names[0]
        node = part.graph_def.node.add(name=name, op="_Send", device=_cpu(part.task), input=[source])
        dtype = float32 if tensor is None else tensor.dtype.base_dtype
        _encode({"T": dtype, **self._edge(key, task)}, node)
        part.targets.append(name)


def _encode(attrs: dict[str, Any], node: Any) -> None:
    for label, value in attrs.items():
        encode_attr(value, node.attr[label])


def _cpu(task: str) -> str:
    return f"{task}/device:CPU:0"


def _reference(tensor: Tensor) -> str:
    return tensor.op.name if tensor.value_index == 0 else f"{tensor.op.name}:{tensor.value_index}"


def feeds_of(part: Part, values: Sequence[Any]) -> list[Any]:
    """The values of a part's placeholders, in their order."""
    return [values[position] for position in part.feeds]
