"""Merge nodes that must share a device one by one, in TensorFlow's order.

The result of two merges can depend on their order: which request survives, whether a colocation still fits, whether
kernel priorities are kept. Groups in which nothing can clash are formed by arrays in `bindings`; the others come here.

A group is a tree whose root carries the `Member` of the whole group. The tree with the lower rank joins the other; of
two equal ones the second joins the first, which matters for asymmetric merges.

Source: tensorflow/core/common_runtime/colocation_graph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from gpuplace.device.parsed_name import ParsedName
from gpuplace.errors import InvalidArgumentError
from gpuplace.placer.member import Member, merge_supported


class Binding(Enum):
    """Why two nodes must share a device."""

    REFERENCE = "reference edge"
    RESOURCE = "resource edge"
    DATASET = "dataset edge"
    CALL = "function call"
    COLOCATION = "colocation"

    @property
    def is_edge(self) -> bool:
        """False for `_class` colocation, and for neighbors of a call that its function ties without an edge."""
        return self not in (Binding.CALL, Binding.COLOCATION)


@dataclass(frozen=True, slots=True)
class Merge:
    """One attempt to bind two nodes, and its result."""

    binding: Binding
    first: int
    """The source of an edge, or the node with the `_class` entry."""
    second: int
    """The destination of an edge, or the first node of the colocation group."""
    before_first: Member
    """Constraints of the first node's group before the merge."""
    before_second: Member
    """Constraints of the second node's group before the merge."""
    after: Member | None
    """Constraints of the common group; None if the merge was given up."""
    yielded: bool = False
    """Whether the consumer's request was replaced by the source's."""
    conflict: str | None = None
    """Why the merge was given up."""


class MergeConflict(Exception):
    """Two groups cannot share a device.

    Attributes:
        message: TensorFlow's text after "Cannot colocate nodes ... and ...", or its complete sentence for an edge.
        is_whole: whether `message` is the complete sentence.
    """

    def __init__(self, message: str, *, is_whole: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.is_whole = is_whole


class Grouping:
    """A growing partition of nodes, with the constraints of each part.

    Attributes:
        searched: the number of nodes searched to list the groups of conflicts (see `Bindings.replay`).

    Args:
        member: returns the constraints of a single node.
        type_priority: device type -> priority.
        soft: whether soft placement is allowed.
        rules: the rule set, `"1.15"` or `"2.21"`.
        record: called with each `Merge`, for explanations.
    """

    def __init__(
        self,
        member: Callable[[int], Member],
        type_priority: dict[str, int],
        *,
        soft: bool,
        rules: str,
        record: Callable[[Merge], None] | None = None,
    ) -> None:
        self._member = member
        self._rules = rules
        self._type_priority = type_priority
        self._soft = soft
        self._record = record
        self._parent: dict[int, int] = {}
        self._rank: dict[int, int] = {}
        self._members: dict[int, Member] = {}
        self.searched = 0

    def find(self, node: int) -> int:
        """Return the root of a node's group."""
        parent = self._parent
        root = parent.get(node)
        if root is None:  # roots have no parent
            return node
        while (above := parent.get(root)) is not None:
            root = above
        while (above := parent[node]) != root:
            parent[node], node = root, above
        return root

    def constraints(self, node: int) -> Member:
        """Return the constraints of a node's group."""
        root = self.find(node)
        member = self._members.get(root)
        if member is None:
            member = self._members[root] = self._member(root)
        return member

    def bind_edge(self, binding: Binding, src: int, dst: int, names: tuple[str, str]) -> None:
        """Bind the ends of a reference or resource edge; the consumer's request yields to the source's.

        Args:
            binding: the kind of edge.
            src, dst: its ends.
            names: both ends as a conflict's message names them: `v`, or in 2.x `name='v' (op='VariableV2')`.

        Raises:
            MergeConflict: the requests or kernels of the two groups are incompatible.
        """
        source, consumer = self.constraints(src), self.constraints(dst)
        for kind, left, right in (
            ("assigned", source.assigned, consumer.assigned),
            ("resource", source.resource, consumer.resource),
        ):
            if not self._are_compatible(left, right):
                raise self._failed(
                    binding,
                    src,
                    dst,
                    MergeConflict(
                        "Cannot place the graph because a reference or resource edge connects colocation groups with "
                        f"incompatible {kind} devices: {left.to_string()} vs {right.to_string()}. The edge src node is "
                        + (
                            f"{names[0]} , and the dst node is {names[1]}"
                            if self._rules == "1.15"
                            else f"{names[0]}, and the dst node is {names[1]}."
                        ),
                        is_whole=True,
                    ),
                )
        yields = not self._are_compatible(source.requested, consumer.requested)
        if yields:
            self._members[self.find(dst)] = consumer.with_request_of(source)
        self._join(binding, src, dst, source, consumer, yielded=yields)

    def _are_compatible(self, left: ParsedName, right: ParsedName) -> bool:
        """Compare two names. In 2.x no part may differ; in 1.15 one name must contain all parts of the other."""
        if self._rules == "1.15":
            return left.is_specification(right) or right.is_specification(left)
        return left.is_compatible(right)

    def colocate(self, node: int, group_root: int, binding: Binding = Binding.COLOCATION) -> None:
        """Bind a node to the first node of its colocation group.

        Args:
            node, group_root: the two nodes.
            binding: the reason.

        Raises:
            MergeConflict: requests or kernels are incompatible.
        """
        self._join(binding, node, group_root, self.constraints(node), self.constraints(group_root))

    def limit(self, node: int, inside: Member) -> None:
        """Apply the constraints inside a called function to a node's group; its device types only if any is left.

        Raises:
            MergeConflict: requests are incompatible.
        """
        root = self.find(node)
        member = self.constraints(node)
        try:
            requested = member.requested.merge(inside.requested, allow_soft_placement=self._soft)
            resource = member.resource.merge(inside.resource)
        except InvalidArgumentError as error:
            raise MergeConflict(error.message, is_whole=True) from None
        supported = merge_supported(member.supported, inside.supported, self._type_priority)
        self._members[root] = replace(
            member, requested=requested, resource=resource, supported=supported or member.supported
        )

    def _join(
        self, binding: Binding, x: int, y: int, before_x: Member, before_y: Member, *, yielded: bool = False
    ) -> None:
        x_root, y_root = self.find(x), self.find(y)
        if x_root == y_root:
            return
        x_rank, y_rank = self._rank.get(x_root, 0), self._rank.get(y_root, 0)
        new, old = (y_root, x_root) if x_rank < y_rank else (x_root, y_root)
        target, other = self.constraints(new), self.constraints(old)
        try:
            target = target.with_names_of(other, soft=self._soft)
        except InvalidArgumentError as error:
            raise self._failed(binding, x, y, MergeConflict(error.message), yielded) from None
        self._members[new] = target
        supported = merge_supported(target.supported, other.supported, self._type_priority)
        if not supported:
            raise self._failed(
                binding,
                x,
                y,
                MergeConflict(
                    "because no device type supports both of those nodes and the other nodes colocated with them.",
                ),
                yielded,
            )
        if supported != target.supported:
            target = Member(supported, target.requested, target.resource, target.assigned)
            self._members[new] = target
        self._parent[old] = new
        if x_rank == y_rank:
            self._rank[new] = x_rank + 1
        if self._record is not None:
            self._record(Merge(binding, x, y, before_x, before_y, target, yielded))

    def _failed(
        self, binding: Binding, x: int, y: int, conflict: MergeConflict, yielded: bool = False
    ) -> MergeConflict:
        if self._record is not None:
            before_x, before_y = self.constraints(x), self.constraints(y)
            self._record(Merge(binding, x, y, before_x, before_y, None, yielded, conflict.message))
        return conflict
