"""The constraints of a node, or of a group of nodes that must share a device, and how two constraints are merged.

Three device names, each at least as specific as the next:

- *assigned*: the device that a node of the group had before placing;
- *resource*: the request of a node that creates a variable or a handle; it is binding for all consumers;
- *requested*: all requests of the program, merged.

Source: tensorflow/core/common_runtime/colocation_graph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from gpuplace.device.device_set import device_type_priority
from gpuplace.device.parsed_name import ANY, ParsedName
from gpuplace.placer.node_facts import SupportedTypes


@dataclass(frozen=True, slots=True)
class Member:
    """The constraints of one node or one group."""

    supported: SupportedTypes
    """Device types that have a kernel for every node, with priorities."""
    requested: ParsedName = ANY
    resource: ParsedName = ANY
    assigned: ParsedName = ANY

    def with_names_of(self, other: Member, *, soft: bool) -> Member:
        """Return these constraints with the device names of both.

        Soft placement drops the parts in which two *requests* differ; assigned and resource names never yield.

        Raises:
            InvalidArgumentError: "Cannot merge devices with incompatible ...".
        """
        assigned = self.assigned.merge(other.assigned)
        resource = self.resource.merge(other.resource)
        requested = self.requested.merge(other.requested, allow_soft_placement=soft)
        requested = requested.ensure_specification(assigned).ensure_specification(resource)
        return Member(self.supported, requested, resource, assigned)

    def with_request_of(self, source: Member) -> Member:
        """Return this consumer's constraints with the source's request, where its binding names allow it."""
        requested = source.requested.ensure_specification(self.assigned).ensure_specification(self.resource)
        return replace(self, requested=requested)

    def soft_name(self, *, keep_resource: bool) -> ParsedName:
        """Return the request without device type and index, unless a binding name sets them."""
        keep_type = self.assigned.type is not None or (keep_resource and self.resource.type is not None)
        keep_id = self.assigned.id is not None or (keep_resource and self.resource.id is not None)
        name = self.requested
        if not keep_type:
            name = name._replace(type=None)
        if not keep_id:
            name = name._replace(id=None)
        return name


def merge_supported(
    target: SupportedTypes, other: SupportedTypes, type_priority: dict[str, int]
) -> SupportedTypes:
    """Return the device types in both lists; priorities survive only if the two lists do not contradict each other.

    >>> merge_supported((("GPU", 0), ("CPU", 0)), (("CPU", 1), ("GPU", 0)), {"GPU": 210, "CPU": 70})
    (('CPU', 1), ('GPU', 0))
    """
    return _merged(target, other, tuple(device_type_priority(kind, type_priority) for kind, _ in target))


@lru_cache(maxsize=1024)  # many groups share few lists of types
def _merged(target: SupportedTypes, other: SupportedTypes, priorities: tuple[int, ...]) -> SupportedTypes:
    of_target, of_other = dict(target), dict(other)
    of_type = {kind: priority for (kind, _), priority in zip(target, priorities, strict=True)}
    mine = [(kind, of_target[kind]) for kind, _ in target if kind in of_other]
    theirs = [(kind, of_other[kind]) for kind, _ in target if kind in of_other]

    def key(item: tuple[str, int]) -> tuple[int, int, str]:
        return -item[1], -of_type[item[0]], item[0]

    mine.sort(key=key)
    theirs.sort(key=key)
    if not any(priority for _, priority in theirs):
        return tuple(mine)
    if not any(priority for _, priority in mine):
        return tuple(theirs)
    if [kind for kind, _ in mine] == [kind for kind, _ in theirs]:
        return tuple(mine)
    return tuple(sorted(((kind, 0) for kind, _ in mine), key=key))
