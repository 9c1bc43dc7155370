"""The placement rules by name, in one table: verdicts carry those that can settle a device, explanations all of them.

>>> Rule.KERNEL.value, Rule.KERNEL.settles
('kernel', True)
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
    ONLY_DEVICE = "only device"
    CONFLICT = "conflict"
    FAILED = "failed"

    @property
    def meaning(self) -> str:
        """The rule in one sentence."""
        return _TABLE[self][1]

    @property
    def settles(self) -> bool:
        """Whether the rule can determine a device; the other rules are only steps of an explanation."""
        return _TABLE[self][0]


_TABLE: dict[Rule, tuple[bool, str]] = {
    Rule.KERNEL: (True, "only devices of a type that has a kernel for the op and its types"),
    Rule.ASSIGNED: (True, "a node assigned before placing keeps its device, and so does its group"),
    Rule.REQUEST: (True, "only devices that match what the program asked for"),
    Rule.REFERENCE_EDGE: (False, "a node that takes a reference runs on the variable's device"),
    Rule.RESOURCE_EDGE: (False, "a node that takes a resource handle runs on the resource's device"),
    Rule.DATASET_EDGE: (False, "a dataset is placed with the dataset that it reads"),
    Rule.YIELDS_TO_SOURCE: (
        True,
        "across a reference or resource edge the consumer's request yields to the source's",
    ),
    Rule.COLOCATION: (False, "nodes of one colocation group run on one device"),
    Rule.COLOCATION_IGNORED: (False, "soft placement ignores a colocation that cannot be satisfied"),
    Rule.REQUESTS_DROPPED: (True, "soft placement drops the parts in which two requests of a group differ"),
    Rule.SOFT_PLACEMENT: (
        True,
        "soft placement drops the type and index of a request that cannot be satisfied",
    ),
    Rule.SOFT_RESOURCE: (
        True,
        "as a last resort, soft placement moves a resource off its requested device",
    ),
    Rule.HOST_DATA: (
        True,
        "a node that reads a list of strings or handles, or passes a dataset on, runs on the CPU (2.x)",
    ),
    Rule.GROUP: (False, "the first visited node of a group determines the device of all its nodes"),
    Rule.GENERATOR: (True, "a node without data inputs goes where all its consumers are"),
    Rule.METADATA: (True, "a node that reads only the shape of its input goes where the input is"),
    Rule.IDENTITY: (True, "an Identity between two nodes with equal requests stays with its input"),
    Rule.DEFAULT_DEVICE: (True, "the caller's default device comes first"),
    Rule.KERNEL_PRIORITY: (True, "the device type whose kernel has the higher priority comes first"),
    Rule.TYPE_PRIORITY: (True, "device types in their order of preference, GPU before CPU"),
    Rule.NAME_ORDER: (
        True,
        "among equal devices, the first by name, compared as text (GPU:10 before GPU:2)",
    ),
    Rule.ONLY_DEVICE: (True, "the machine has no other device"),
    Rule.CONFLICT: (False, "two nodes that must share a device have no device in common"),
    Rule.FAILED: (True, "no device is left"),
}

RULES = tuple(Rule)
"""All rules in a fixed order; arrays hold indices into it."""

FOLLOWING = (Rule.GENERATOR, Rule.METADATA, Rule.IDENTITY)
"""Rules by which a node goes to the device of another node."""
