"""Partition of a step among tasks: each gets its own graph, with ``_Send`` and ``_Recv`` where edges are cut.

::

    /job:ps/task:0        w ──> read ──> _Send ─ ─ ─┐         ┌ ─ > _Recv ──> ApplyGradientDescent
    /job:worker/task:0                        _Recv <┘──> MatMul ──> ... ──> _Send

All graphs list their nodes in one common order: a ``_Send`` immediately after its input's producer, a ``_Recv``
immediately before its first consumer. So tasks that run their nodes sequentially cannot deadlock. If the branches of a
conditional run on other tasks, the dead tensors of the branch that is not taken are sent too. A loop on several tasks
runs on each of them (``shared_loops``).

Added nodes have the names that TensorFlow's master gives them: ``y_S2`` sends ``y`` and ``y_S3`` receives it. A
control edge sends an empty tensor::

    y ──> y_S4 = Const ──> y_S5 = _Send        y_S6 = _Recv ──> y_S7 = Identity ──> nodes that wait for y

Source: tensorflow/core/graph/graph_partition.cc and core/distributed_runtime/master_session.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuplace import release as releases
from gpuplace.clusters.dead_tensors import DeadTensors
from gpuplace.clusters.loop_nodes import LoopNodes, add_signal, encode_attrs
from gpuplace.clusters.shared_loops import SharedLoops, is_constant_entry
from gpuplace.dtypes import float32
from gpuplace.graph.op_sets import (
    DECIDES_WHOLE_LOOP,
    ENTERS,
    KNOWN_BRANCH,
    MAY_BE_DEAD,
    RECEIVED_SHAPE,
    SWITCHES,
)
from gpuplace.graph.operation import CLASS_ATTR, Operation, Tensor
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.graphdef.export import add_library, node_def, version_def
from gpuplace.graphdef.messages import GraphDef
from gpuplace.runtime.plan.compile import Signature
from gpuplace.runtime.plan.schedule.loop_frames import Frame
from gpuplace.runtime.plan.schedule.pruning import pruned_with_loops
from gpuplace.runtime.plan.schedule.unused import used_operations


def task_of_device(device: str) -> str:
    """Return the task of a device: ``/job:ps/replica:0/task:1`` for ``/job:ps/replica:0/task:1/device:CPU:0``."""
    return device.rpartition("/device:")[0]


@dataclass
class Part:
    """Part of a step on one task."""

    task: str
    """Name of the task."""
    graph_def: Any = field(default_factory=GraphDef)
    """Nodes, with full device names."""
    feeds: dict[int, str] = field(default_factory=dict)
    """Placeholders by the position of the feed that they replace."""
    fetches: dict[int, str] = field(default_factory=dict)
    """Tensor names by the position of the fetch."""
    targets: list[str] = field(default_factory=list)
    """Names of the operations to run."""


def partition_step(
    signature: Signature,
    device_of: Callable[[Operation], str],
    done: frozenset[Operation] = frozenset(),
    drops_unused: bool = False,
) -> dict[str, Part]:
    """Return the parts of a step, by task.

    Args:
        signature: fetches, targets and feeds.
        device_of: the placement.
        done: operations that have run in an earlier call of a partial run.
        drops_unused: whether to remove unused gradients if the step has neither loops nor GPUs.

    Raises:
        UnimplementedError: a loop on several tasks was not built by ``while_loop``.
        InvalidArgumentError: the operations form a cycle.
    """
    return _Partitioner(signature, device_of, done, drops_unused).parts()


class _Partitioner:
    """Partitioner of one step."""

    def __init__(
        self,
        signature: Signature,
        device_of: Callable[[Operation], str],
        done: frozenset[Operation],
        drops_unused: bool,
    ) -> None:
        self._fetches, self._targets, feeds = signature
        self._fed = {tensor: position for position, tensor in enumerate(feeds)}
        operations, frames = pruned_with_loops(self._fetches, self._targets, self._fed)
        operations = [op for op in operations if op not in done]
        self._device = {op: device_of(op) for op in operations}
        if drops_unused and frames is None and all(map(_is_cpu, self._device.values())):
            operations = used_operations(operations, self._fetches, self._targets, self._fed)
        self._operations = operations
        self._dead = DeadTensors(operations, frames, self._fed)
        self._loops = (
            None if frames is None else SharedLoops(operations, frames, self._device, task_of_device)
        )
        self._task = {op: task_of_device(self._device[op]) for op in operations}
        self._parts: dict[str, Part] = {}
        self._copied: set[tuple[Operation, str]] = set()
        self._received: dict[tuple[Tensor | Operation, str], str] = {}
        self._names = {op.name for op in operations}
        self._numbers = 0
        self._first: dict[tuple[Tensor | Operation, str], int] = {}
        self._signal = "" if releases.rules() == "1.15" else "/ctrl"
        self._requested = {*self._targets, *(tensor.op for tensor in self._fetches)}
        self._loop_nodes: dict[Frame, LoopNodes] = {}

    def parts(self) -> dict[str, Part]:
        """Return the parts, by task."""
        outgoing = self._outgoing()
        for op in self._operations:
            for frame in () if self._loops is None else self._loops.around(op):
                if frame not in self._loop_nodes:
                    self._loop_nodes[frame] = self._loop_start(frame)
            if not self._is_replicated(op):
                self._add(op, self._part(self._task[op]))
            for crossing in outgoing.get(op, ()):
                self._add_send(op, *crossing)
            for frame, nodes in self._loop_nodes.items() if op.type == "LoopCond" else ():
                if frame.predicate is op:
                    self._decide(op.outputs[0], nodes)
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

    def _is_replicated(self, op: Operation) -> bool:
        """Whether each task that needs an operation gets its own copy, as for constant inputs of loops."""
        return is_constant_entry(op) and op not in self._requested

    def _controls(self, op: Operation) -> Iterable[Operation]:
        return (control for control in op.control_inputs if control in self._task)

    def _needed(self, op: Operation) -> Iterable[tuple[Operation, Tensor | None]]:
        """Yield the operations that an operation's task needs, with the tensor; None for a control input."""
        for tensor in op.inputs:
            if tensor in self._fed:
                continue
            if self._is_replicated(tensor.op):
                yield from self._needed(tensor.op)
            else:
                yield tensor.op, tensor
        for control in self._controls(op):
            yield control, None

    def _outgoing(self) -> dict[Operation, dict[tuple[Tensor | None, str], None]]:
        """Return the tensors that each operation sends, with the receiving task; None stands for a control edge."""
        outgoing: dict[Operation, dict[tuple[Tensor | None, str], None]] = {}
        shared = {} if self._loops is None else self._loops.tasks
        for frame, tasks in shared.items():
            entry = self._entry(frame)
            assert frame.predicate is not None
            needed = [frame.predicate.outputs[0], *([] if entry is None else entry.inputs)]
            for task in tasks:
                for value in needed:
                    if value not in self._fed and self._task[value.op] != task:
                        outgoing.setdefault(value.op, {})[value, task] = None
        for op in self._operations:
            task = self._task[op]
            for source, tensor in () if self._is_replicated(op) else self._needed(op):
                if self._task[source] == task:
                    continue
                if tensor is None and self._anchored(source) is not None:
                    continue
                outgoing.setdefault(source, {})[tensor, task] = None
        return outgoing

    # Loops on several tasks

    def _anchored(self, op: Operation) -> tuple[Frame, int] | None:
        return None if self._loops is None else self._loops.anchored(op)

    def _entry(self, frame: Frame) -> Operation | None:
        """Return an ``Enter`` whose input is dead if the loop does not run; None if the loop always runs."""
        if not self._dead.around(frame):
            return None
        entries = [
            op
            for op in self._operations
            if op.type in ENTERS
            and op.attrs["frame_name"].decode() == frame.name
            and self._dead.may_be_dead(op.inputs[0])
        ]
        return min(entries, key=self._cost_as_entry)

    def _cost_as_entry(self, enter: Operation) -> tuple[bool, int]:
        return not self._dead.decides_whole_loop(enter), enter.inputs[0].shape.num_elements() or 1 << 62

    def _loop_start(self, frame: Frame) -> LoopNodes:
        """Add the nodes that iterate a loop on each of its tasks."""
        assert self._loops is not None and frame.predicate is not None
        nodes = LoopNodes(frame, frame.predicate.name, self._names)
        entry = self._entry(frame)
        for task in self._loops.tasks[frame]:
            part = self._part(task)
            if entry is not None:
                first, dtype = self._source(entry.inputs[0], part), entry.inputs[0].dtype.base_dtype
                is_whole = self._dead.decides_whole_loop(entry)
                nodes.begin(part.graph_def, _cpu(task), first, dtype, is_whole)
                continue
            controls = []
            if frame.parent is not None:
                controls.append(self._anchor((frame.parent, self._loops.part(frame)), task))
            first = add_signal(part.graph_def, nodes.name("first"), _cpu(task), controls)
            nodes.begin(part.graph_def, _cpu(task), first, float32, decides_whole=False)
        return nodes

    def _decide(self, predicate: Tensor, nodes: LoopNodes) -> None:
        """Add the nodes that decide on each task whether the loop continues."""
        assert self._loops is not None
        for task in self._loops.tasks[nodes.frame]:
            part = self._part(task)
            source = self._source(predicate, part)
            if self._task[predicate.op] != task:
                source = self._received[predicate, task] = nodes.receive_predicate(
                    part.graph_def, _cpu(task), source
                )
            nodes.end_iteration(part.graph_def, _cpu(task), source)

    def _anchor(self, place: tuple[Frame, int], task: str) -> str:
        """Return the node that marks a part of a loop on a task; its successors run in that part."""
        return self._loop_nodes[place[0]].anchor(self._part(task).graph_def, _cpu(task), place[1])

    # Nodes

    def _add(self, op: Operation, part: Part, device: str = "") -> None:
        inputs = [self._source(tensor, part) for tensor in op.inputs]
        inputs += [f"^{self._control(control, part)}" for control in self._controls(op)]
        self._add_node(op, part, inputs, device or self._device[op])

    def _add_node(self, op: Operation, part: Part, inputs: Sequence[str], device: str) -> None:
        node = node_def(op, part.graph_def.node.add())
        del node.input[:]
        node.input.extend(inputs)
        node.device = device
        node.attr.pop(CLASS_ATTR, None)
        if op.type in ENTERS and self._dead.decides_whole_loop(op):
            encode_attrs({DECIDES_WHOLE_LOOP: True}, node)
        if op.type in SWITCHES and (branch := self._dead.known_branch(op)) is not None:
            encode_attrs({KNOWN_BRANCH: branch}, node)

    def _source(self, tensor: Tensor, part: Part) -> str:
        """Return the name of a tensor in a part: of its producer, its placeholder, or the node that receives it."""
        if tensor in self._fed:
            return self._placeholder(tensor, part)
        source = tensor.op
        if self._is_replicated(source):
            self._replicate(source, part)
            return _reference(tensor)
        if self._task[source] == part.task:
            return _reference(tensor)
        return (
            self._received[tensor, part.task]
            if self._is_received(tensor, part)
            else self._receive(tensor, part)
        )

    def _control(self, op: Operation, part: Part) -> str:
        """Return the node in a part that completes after an operation."""
        if self._task[op] == part.task:
            return op.name
        place = self._anchored(op)
        if place is not None:
            return self._anchor(place, part.task)
        return self._received[op, part.task] if self._is_received(op, part) else self._receive(op, part)

    def _is_received(self, key: Tensor | Operation, part: Part) -> bool:
        return (key, part.task) in self._received

    def _replicate(self, op: Operation, part: Part) -> None:
        """Add a copy of the ``Enter`` of a loop-invariant value on a task."""
        if (op, part.task) not in self._copied:
            self._copied.add((op, part.task))
            consumers = [
                consumer for consumer in op.outputs[0].consumers() if self._task.get(consumer) == part.task
            ]
            device = self._device[consumers[0]] if consumers else _cpu(part.task)
            self._add(op, part, device)

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
        """Return the node names of an edge between tasks: two for a tensor, four for a control edge."""
        is_tensor = isinstance(key, Tensor)
        name = key.op.name if isinstance(key, Tensor) else key.name
        count = 2 if is_tensor else 4

        def names_from(first: int) -> list[str]:
            names = [f"{name}_S{first + offset}" for offset in range(count)]
            if not is_tensor:
                names[0] = f"{name}{self._signal}_S{first}"
            return names

        if (key, task) not in self._first:
            while not self._names.isdisjoint(names_from(self._numbers)):
                self._numbers += 1
            self._first[key, task] = self._numbers
            self._numbers += count
        return names_from(self._first[key, task])

    def _edge(self, key: Tensor | Operation, task: str) -> dict[str, Any]:
        """Return the common attributes of both ends of an edge."""
        op = key.op if isinstance(key, Tensor) else key
        return {
            "tensor_name": f"edge_{self._first[key, task]}_{op.name}".encode(),
            "send_device": _cpu(self._task[op]).encode(),
            "send_device_incarnation": 1,
            "recv_device": _cpu(task).encode(),
            "client_terminated": False,
        }

    def _around(self, key: Tensor | Operation, task: str) -> list[str]:
        """Return the control inputs of both ends of an edge.

        They put both ends into the part of the loop that produces the value.
        """
        place = None if self._loops is None else self._loops.place(key)
        return [] if place is None else [f"^{self._anchor(place, task)}"]

    def _receive(self, key: Tensor | Operation, part: Part) -> str:
        """Add the receiving end of an edge; return the node that outputs the tensor, or completes on its arrival."""
        names = self._names_of(key, part.task)
        name = names[1] if isinstance(key, Tensor) else names[2]
        controls = self._around(key, part.task)
        node = part.graph_def.node.add(name=name, op="_Recv", device=_cpu(part.task), input=controls)
        dtype = key.dtype.base_dtype if isinstance(key, Tensor) else float32
        attrs = {"tensor_type": dtype, **self._edge(key, part.task)}
        if isinstance(key, Tensor):
            attrs[RECEIVED_SHAPE] = key.shape
        if self._dead.may_be_dead(key):
            attrs[MAY_BE_DEAD] = True
        encode_attrs(attrs, node)
        if not isinstance(key, Tensor):
            node = part.graph_def.node.add(name=names[3], op="Identity", device=_cpu(part.task), input=[name])
            encode_attrs({"T": dtype}, node)
            name = names[3]
        self._received[key, part.task] = name
        return name

    def _add_send(self, op: Operation, tensor: Tensor | None, task: str) -> None:
        """Add the sending end of an edge, and a constant to send for a control edge."""
        part = self._part(self._task[op])
        key = op if tensor is None else tensor
        names = self._names_of(key, task)
        if tensor is None:
            name = names[1]
            source = add_signal(part.graph_def, names[0], _cpu(part.task), [op.name])
        else:
            source, name = _reference(tensor), names[0]
        inputs = [source, *self._around(key, part.task)]
        node = part.graph_def.node.add(name=name, op="_Send", device=_cpu(part.task), input=inputs)
        dtype = float32 if tensor is None else tensor.dtype.base_dtype
        encode_attrs({"T": dtype, **self._edge(key, task)}, node)
        part.targets.append(name)


def _is_cpu(device: str) -> bool:
    return "/device:CPU:" in device


def _cpu(task: str) -> str:
    return f"{task}/device:CPU:0"


def _reference(tensor: Tensor) -> str:
    return tensor.op.name if tensor.value_index == 0 else f"{tensor.op.name}:{tensor.value_index}"


def feeds_of(part: Part, values: Sequence[Any]) -> list[Any]:
    """Return the values of a part's placeholders, in their order."""
    return [values[position] for position in part.feeds]
