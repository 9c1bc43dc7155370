"""The placement rules by name: every step of an explanation carries one.

>>> Rule.KERNEL.value
'kernel'
>>> print(Rule.GENERATOR.meaning)
a node without data inputs goes where all its consumers are
"""

from __future__ import annotations

from enum import Enum


class Rule(Enum):
    """One rule of TensorFlow's placer."""

    KERNEL = "kernel"
    ASSIGNED = "assigned"
    REQUEST = "request"
    REFERENCE_EDGE = "reference edge"
    RESOURCE_EDGE = "resource edge"
    DATASET_EDGE = "dataset edge"
    YIELDS_TO_SOURCE = "yields to source"
    COLOCATION = "colocation"
    COLOCATION_IGNORED = "colocation ignored"
    REQUESTS_DROPPED = "requests dropped"
    SOFT_PLACEMENT = "soft placement"
    SOFT_RESOURCE = "soft placement: resource"
    HOST_DATA = "host data"
    GROUP = "group"
    GENERATOR = "generator"
    METADATA = "metadata"
    IDENTITY = "identity"
    DEFAULT_DEVICE = "default device"
    KERNEL_PRIORITY = "kernel priority"
    TYPE_PRIORITY = "type priority"
    NAME_ORDER = "name order"
    CONFLICT = "conflict"
    MISSING_DEVICE = "missing device"
    NEW_DEVICE = "new device"
    FAILED = "failed"

    @property
    def meaning(self) -> str:
        """The rule in a few words."""
        return _MEANINGS[self]


_MEANINGS = {
    Rule.KERNEL: "only devices of a type that has a kernel for the op and its types",
    Rule.ASSIGNED: "a node that already has a device keeps it and binds its group",
    Rule.REQUEST: "only devices that match what the program asked for",
    Rule.REFERENCE_EDGE: "a node that takes a reference runs where the variable lives",
    Rule.RESOURCE_EDGE: "a node that takes a resource handle runs where the resource lives",
    Rule.DATASET_EDGE: "a dataset lives where the dataset that it reads lives",
    Rule.YIELDS_TO_SOURCE: "across a reference or resource edge the consumer's request yields to the source's",
    Rule.COLOCATION: "nodes of one colocation group run on one device",
    Rule.COLOCATION_IGNORED: "soft placement ignores a colocation that cannot be satisfied",
    Rule.REQUESTS_DROPPED: "soft placement drops the parts in which two requests of a group differ",
    Rule.SOFT_PLACEMENT: "soft placement drops type and index of the requested device",
    Rule.SOFT_RESOURCE: "soft placement, as a last resort, moves a resource from the device asked for it",
    Rule.HOST_DATA: "a node that reads a list of strings or handles, or passes a dataset on, runs on the CPU (2.x)",
    Rule.GROUP: "the first node of the group that is visited decides for all",
    Rule.GENERATOR: "a node without data inputs goes where all its consumers are",
    Rule.METADATA: "a node that reads only the size of its input goes where the input is",
    Rule.IDENTITY: "an Identity between two nodes of equal request stays with its input",
    Rule.DEFAULT_DEVICE: "the default device of the caller comes first",
    Rule.KERNEL_PRIORITY: "the device type whose kernel has the higher priority comes first",
    Rule.TYPE_PRIORITY: "device types in their order of preference, GPU before CPU",
    Rule.NAME_ORDER: "of equal devices the first by name, compared as text (GPU:10 before GPU:2)",
    Rule.CONFLICT: "two nodes that have to share a device cannot",
    Rule.MISSING_DEVICE: "the machine no longer has the device",
    Rule.NEW_DEVICE: "the machine did not have the device before",
    Rule.FAILED: "no device is left",
}
