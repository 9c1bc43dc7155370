"""Frames of a graph's loops: the frame of every operation, and an order in which the operations of a loop are adjacent.

Values enter a loop's frame by ``Enter`` and leave it by ``Exit``; within the frame, ``Merge`` returns in the next
iteration what ``NextIteration`` receives::

    c ──> Enter ──> Merge ──> Switch ──0──> Exit ──> ...
                      ^         |  ^
                      |         1  └── LoopCond
                      |         v
                NextIteration <─ body

In the resulting order the operations of a frame are contiguous, with those of inner frames: first the condition, then
what the loop returns when the condition fails, then the body. Only edges from ``NextIteration`` go backwards.

Source: tensorflow/core/graph/control_flow.cc, releases 1.15 and 2.21 (frames, sentences).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from gpuplace.errors import InternalError, InvalidArgumentError
from gpuplace.graph.op_sets import ENTERS, EXITS, NEXT_ITERATIONS, SWITCHES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.ready_order import ready_order

DECIDING, LEAVING, GOING_ON = 0, 1, 2
"""Parts of a loop: run in every iteration, only in the last one, and in all but the last one."""

_BUG = "This is an internal bug, please file a bug report with instructions on how to reproduce the error."


@dataclass(slots=True, eq=False)
class Frame:
    """One loop."""

    name: str
    """``frame_name`` of its ``Enter`` operations."""
    parent: Frame | None
    """Frame of the loop around it."""
    depth: int
    """Number of loops around it."""
    predicate: Operation | None = None
    """Its ``LoopCond``."""
    first: int = 0
    """Smallest index of its operations in the graph."""


@dataclass(slots=True)
class Frames:
    """The frames of the operations of a signature.

    Attributes:
        of: frame of each operation, or None; for ``Enter``, the outer frame.
        after: frame of each operation's outputs.
    """

    of: dict[Operation, Frame | None]
    after: dict[Operation, Frame | None]
    parts: dict[Operation | Frame, int] = field(default_factory=dict)
    """Part of its frame that an operation, or an inner loop, belongs to."""

    def path(self, op: Operation) -> list[Frame]:
        """Return the loops around an operation, the outermost first."""
        return _path(self.of[op])

    def is_back_edge(self, tensor: Tensor) -> bool:
        """Whether the consumer of a tensor receives it in the next iteration."""
        return tensor.op.type in NEXT_ITERATIONS and self.after.get(tensor.op) is not None

    def ordered(self, operations: Sequence[Operation], feeds: Collection[Tensor]) -> list[Operation]:
        """Return the operations in topological order, with each loop contiguous.

        Raises:
            InvalidArgumentError: The operations form a cycle that is not a loop.
        """
        return _Order(self, operations, feeds).ordered_operations()


def _path(frame: Frame | None) -> list[Frame]:
    path = []
    while frame is not None:
        path.append(frame)
        frame = frame.parent
    return path[::-1]


def find_frames(
    operations: Sequence[Operation], feeds: Collection[Tensor], fed_name: Callable[[Tensor], str]
) -> Frames:
    """Return the frames of operations.

    Args:
        operations: operations of a signature.
        feeds: fed tensors.
        fed_name: function that returns the name of the node that represents a feed.

    Raises:
        InvalidArgumentError: A node's inputs are in different frames, an ``Exit`` is in none, or a loop has two
            ``LoopCond`` nodes.
        InternalError: Frames of one name have different parents.
    """
    return _Finder(operations, feeds, fed_name).frames()


class _Finder:
    """Traverses the graph breadth-first, from operations without inputs, as TensorFlow does."""

    def __init__(
        self, operations: Sequence[Operation], feeds: Collection[Tensor], fed_name: Callable[[Tensor], str]
    ) -> None:
        self._operations = operations
        self._fed_name = fed_name
        self._consumers: dict[Operation | Tensor, list[Operation]] = {}
        self._queue: deque[Operation | Tensor] = deque()
        self._frames: dict[tuple[Frame | None, str], Frame] = {}
        self._seen: dict[Operation, Operation | Tensor] = {}
        """Operation to the source from which it was reached first."""
        self._result = Frames({}, {})
        pruned = set(operations)
        used_feeds: dict[Tensor, None] = {}
        for op in operations:
            sources: list[Operation | Tensor] = []
            for tensor in op.inputs:
                if tensor in feeds:
                    used_feeds[tensor] = None
                    sources.append(tensor)
                elif tensor.op in pruned:
                    sources.append(tensor.op)
            sources += [control for control in op.controls if control in pruned and not _is_free(control)]
            if not sources:
                self._result.of[op] = None
                self._queue.append(op)
            for source in dict.fromkeys(sources):
                self._consumers.setdefault(source, []).append(op)
        self._queue.extend(used_feeds)

    def frames(self) -> Frames:
        of, after = self._result.of, self._result.after
        for op in self._queue:
            if isinstance(op, Operation):
                after[op] = self._frame_after(op, None)
        while self._queue:
            source = self._queue.popleft()
            frame = after[source] if isinstance(source, Operation) else None
            for op in self._consumers.get(source, ()):
                if op not in of:
                    self._seen[op] = source
                    of[op] = frame
                    after[op] = self._frame_after(op, frame)
                    self._queue.append(op)
                elif _name(of[op]) != _name(frame):
                    raise self._different_frames(op, source, frame)
        self._check_frames()
        return self._result

    def _frame_after(self, op: Operation, frame: Frame | None) -> Frame | None:
        """Return the frame of the outputs of an operation in ``frame``."""
        if op.type in ENTERS:
            name = op.attrs["frame_name"].decode()
            if not name:
                raise InvalidArgumentError.of(
                    f"The Enter {{{{node {op.name}}}}} must have a frame name.", op=op
                )
            inner = self._frames.get((frame, name))
            if inner is None:
                inner = Frame(name, frame, 0 if frame is None else frame.depth + 1, None, op.index)
                self._frames[frame, name] = inner
            return inner
        if op.type in EXITS:
            if frame is None:
                raise InvalidArgumentError.of(
                    "Invalid Exit op: Cannot find a corresponding Enter op.",
                    facts={"node": op.name},
                    hint="a feed cuts the loop off, or the graph was not built by while_loop",
                )
            return frame.parent
        return frame

    def _different_frames(
        self, op: Operation, source: Operation | Tensor, frame: Frame | None
    ) -> InvalidArgumentError:
        return InvalidArgumentError.of(
            f"{{{{node {op.name}}}}} has inputs from different frames. The input {{{{node {self._node(source)}}}}} is"
            f" in frame '{_name(frame)}'. The input {{{{node {self._node(self._seen.get(op, op))}}}}} is in frame"
            f" '{_name(self._result.of[op])}'.",
            hint="only Enter leads into a loop and only Exit out of it; nothing inside can be fed",
        )

    def _node(self, source: Operation | Tensor) -> str:
        return source.name if isinstance(source, Operation) else self._fed_name(source)

    def _check_frames(self) -> None:
        """Find the ``LoopCond`` of every frame; frames of one name must have one parent."""
        parents: dict[str, Frame | None] = {}
        for op in self._operations:
            if op in self._result.after:
                inside = self._result.after[op] if op.type in ENTERS else self._result.of[op]
                if inside is not None:
                    self._check_frame(op, inside, parents)

    def _check_frame(self, op: Operation, inside: Frame, parents: dict[str, Frame | None]) -> None:
        parent = parents.setdefault(inside.name, inside.parent)
        if parent is not inside.parent:
            raise InternalError.of(
                f'Invalid loop structure: Mismatched parent frames for "{inside.name}": "{_name(inside.parent)}" vs'
                f' "{_name(parent)}". The node giving this error: {{{{node {op.name}}}}}. {_BUG}'
            )
        inside.first = min(inside.first, op.index)
        if op.type != "LoopCond":
            return
        other = inside.predicate
        if other is not None and "LoopCounter" not in other.name and "LoopCounter" not in op.name:
            raise InvalidArgumentError.of(
                f'Invalid loop structure: Loop "{inside.name}" has more than one LoopCond node:'
                f" {{{{node {op.name}}}}} and {{{{node {other.name}}}}}. {_BUG}"
            )
        inside.predicate = op


def _name(frame: Frame | None) -> str:
    return "" if frame is None else frame.name


def _is_free(op: Operation) -> bool:
    """Whether a control input can be ignored: a constant, which Grappler removes from control inputs."""
    return op.type == "Const" and not op.controls


_Item = Operation | Frame
"""Items to order within a frame: its operations, and inner loops as a whole."""


class _Order:
    """Sorts the items of every frame by their edges and parts."""

    def __init__(self, frames: Frames, operations: Sequence[Operation], feeds: Collection[Tensor]) -> None:
        self._frames = frames
        self._count = len(operations)
        self._items: dict[Frame | None, dict[_Item, None]] = {None: {}}
        self._sources: dict[_Item, dict[_Item, set[int]]] = {}
        """Item to the items it needs, and the outputs of each (-1 for control edges)."""
        pruned = set(operations)
        for op in operations:
            self._add_item(op, frames.of[op])
        for op in operations:
            for tensor in op.inputs:
                if tensor not in feeds and tensor.op in pruned:
                    if frames.is_back_edge(tensor):  # consumed before it is computed again
                        self._add_edge(op, -1, tensor.op)
                    else:
                        self._add_edge(tensor.op, tensor.value_index, op)
            for control in op.controls:
                if control in pruned and not (_is_free(control) and frames.of[control] is not frames.of[op]):
                    self._add_edge(control, -1, op)

    def _add_item(self, item: _Item, frame: Frame | None) -> None:
        if frame not in self._items:
            self._items[frame] = {}
            assert frame is not None
            self._add_item(frame, frame.parent)
        self._items[frame][item] = None

    def _add_edge(self, source: Operation, output: int, consumer: Operation) -> None:
        """Add an edge to the innermost frame that contains both ends."""
        if self._frames.of[source] is self._frames.of[consumer]:
            self._sources.setdefault(consumer, {}).setdefault(source, set()).add(output)
            return
        sources: list[_Item] = [*self._frames.path(source), source]
        consumers: list[_Item] = [*self._frames.path(consumer), consumer]
        for before, behind in zip(sources, consumers, strict=False):
            if before is not behind:
                self._sources.setdefault(behind, {}).setdefault(before, set()).add(output)
                return

    def ordered_operations(self) -> list[Operation]:
        ordered: list[Operation] = []
        self._add_sorted(None, ordered)
        if len(ordered) < self._count:
            left = sorted(set(self._frames.of) - set(ordered), key=lambda op: op.index)
            raise cycle_error(left)
        return ordered

    def _add_sorted(self, frame: Frame | None, ordered: list[Operation]) -> None:
        items, parts = self._items[frame], self._frames.parts
        if frame is not None:
            parts.update(self._parts(frame, ready_order(list(items), self._sources_of)))
        by_part = sorted(items, key=lambda item: (parts.get(item, DECIDING), _index(item)))
        for item in ready_order(by_part, self._sources_of):
            if isinstance(item, Frame):
                self._add_sorted(item, ordered)
            else:
                ordered.append(item)

    def _sources_of(self, item: _Item) -> Iterable[_Item]:
        return self._sources.get(item, ())

    def _parts(self, frame: Frame, items: Sequence[_Item]) -> dict[_Item, int]:
        """Return the part of a loop that each of its items belongs to."""
        part_of: dict[_Item, int] = {}
        for item in items:
            part = DECIDING
            for source, outputs in self._sources.get(item, {}).items():
                part = max(part, part_of[source])
                if frame.predicate is not None and isinstance(source, Operation) and source.type in SWITCHES:
                    if source.inputs[1].op is frame.predicate:
                        part = max(
                            part,
                            *[LEAVING if output == 0 else GOING_ON if output else 0 for output in outputs],
                        )
            part_of[item] = part
        return part_of


def _index(item: _Item) -> float:
    """Return the position in the graph; a loop comes after its first operation, an ``Enter`` outside of it."""
    return item.index if isinstance(item, Operation) else item.first + 0.5


def cycle_error(left: Sequence[Operation]) -> InvalidArgumentError:
    """Return the error for operations that form a cycle that is not a loop."""
    return InvalidArgumentError.of(
        f"Graph is invalid, contains a cycle with {len(left)} nodes, including: "
        + ", ".join(op.name for op in left[:10]),
        op=left[0],
        hint="only while loops may form a cycle; feed one of these tensors to cut it",
    )
