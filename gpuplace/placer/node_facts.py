"""The properties of a node that the placement rules need, computed once per signature.

The kind of each input decides whether an edge binds its two ends to one device. The number of inputs and outputs makes
a node a *generator*, its op type may make it a *metadata* node, and the kernel registry gives its device types.

Source: tensorflow/core/common_runtime/placer.cc, colocation_graph.cc and placer_inspection_required_ops_utils.cc,
tensorflow/core/framework/op_kernel.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuplace.dtypes import INVALID, DType
from gpuplace.errors import OpError
from gpuplace.graph.long_list import mapped
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_sets import IDENTITY_OPS, METADATA_OPS
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import Signature

PLAIN, REF, RESOURCE, VARIANT = range(4)
"""Kinds of input and output: by value, by reference, resource handle, variant."""

_EXEMPT_IN_BOTH = """
DeleteMultiDeviceIterator ExperimentalGroupByReducerDataset ExperimentalGroupByWindowDataset
ExperimentalMapAndBatchDataset ExperimentalParallelInterleaveDataset ExperimentalScanDataset
ExperimentalTakeWhileDataset FilterDataset FlatMapDataset GroupByReducerDataset GroupByWindowDataset
IdentityN InterleaveDataset MapAndBatchDataset MapDataset ParallelInterleaveDataset
ParallelInterleaveDatasetV2 ParallelMapDataset PartitionedCall ReduceDataset ScanDataset
StatefulPartitionedCall TakeWhileDataset
"""

_EXEMPT_SINCE_2 = """
ExperimentalMapDataset GeneratorDataset LegacyParallelInterleaveDatasetV2 ParallelFilterDataset
ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 ParallelMapDatasetV2 RpcServerRegister
"""

EXEMPT_OPS = {
    "1.15": frozenset(_EXEMPT_IN_BOTH.split()),
    "2.21": frozenset(f"{_EXEMPT_IN_BOTH} {_EXEMPT_SINCE_2}".split()),
}
"""By rule set: ops that accept resource handles from any device because they only pass them through."""

_DATASET_NAME = re.compile(r"Dataset(V[0-9]+)?")
_REF_ENUM = 100
_KIND_OF_ENUM = {20: RESOURCE, 21: VARIANT}

SupportedTypes = tuple[tuple[str, int], ...]
"""Device types that can run a node, each with its kernel's priority, best first."""


@dataclass(frozen=True)
class NodeFacts:
    """The placement properties of a signature."""

    signature: Signature
    attrs: Mapping[str, Any]
    """The signature's attributes, with the op's defaults filled in."""
    is_function: bool
    """Whether the op is a function of the graph's library, which runs anywhere."""
    input_types: Sequence[Any]
    """Declared `DType` of each data input."""
    output_types: Sequence[Any]
    """Declared `DType` of each output."""
    input_kinds: Sequence[int]
    """`PLAIN`, `REF`, `RESOURCE` or `VARIANT` for each data input."""
    is_generator: bool
    """Whether it has no data input and exactly one output, by value: placed after its consumers, and with them."""
    makes_state: bool
    """Whether it has no data input and exactly one output, a reference or handle: its request binds its consumers."""
    is_metadata: bool
    """Whether it follows its input's device."""
    is_identity: bool
    is_dataset: bool
    is_exempt: bool
    """Whether its handle inputs do not bind it."""
    supported: SupportedTypes
    """Device types with a kernel."""
    has_attr_mismatch: bool
    """Whether some device type has kernels for this op, but none for these attributes."""
    kernel_error: OpError | None
    """The error of the kernel lookup, for example that two kernels match."""


def kind_of(dtype: Any) -> int:
    """Return `PLAIN`, `REF`, `RESOURCE` or `VARIANT`."""
    number = int(dtype.as_datatype_enum)
    return REF if number > _REF_ENUM else _KIND_OF_ENUM.get(number, PLAIN)


def declared_types(op_def: OpDef, attrs: Mapping[str, Any]) -> tuple[Sequence[DType], Sequence[DType]]:
    """Return the types of a node's inputs and outputs.

    As in TensorFlow, a type attribute whose value is not a type adds no types.

    Args:
        op_def: the node's op, or function.
        attrs: the node's attributes with defaults.

    Raises:
        InvalidArgumentError: there are more inputs or outputs than any node can have.
    """
    replacements: dict[str, Any] = {}
    for attr in op_def.attrs:
        if attr.element_type != "type" or attr.name not in attrs:
            continue
        value = attrs[attr.name]
        if attr.is_list:
            if not isinstance(value, tuple) or not all(isinstance(item, DType) for item in value):
                replacements[attr.name] = ()
        elif not isinstance(value, DType):
            replacements[attr.name] = INVALID
    valid_attrs = {**attrs, **replacements} if replacements else attrs
    return op_def.input_types(valid_attrs), op_def.output_types(valid_attrs)


def is_dataset_op(op_type: str, output_types: Sequence[Any]) -> bool:
    """Return whether an op creates a dataset, judging by its name and output."""
    if len(output_types) != 1 or kind_of(output_types[0]) != VARIANT:
        return False
    return op_type == "DatasetFromGraph" or bool(
        _DATASET_NAME.fullmatch(op_type, max(op_type.rfind("Dataset"), 0))
    )


def node_facts(
    signature: Signature,
    catalogue: Catalogue,
    device_types: Sequence[str],
    rules: str,
    functions: Mapping[str, Any] | None = None,
) -> NodeFacts:
    """Return the facts of one signature.

    Args:
        signature: op type and attributes.
        catalogue: ops and kernels.
        device_types: the device types of the machine, best first.
        rules: `"1.15"` or `"2.21"`.
        functions: name -> `OpDef` of the graph's functions.

    Raises:
        NotFoundError: the op is neither registered nor a function, or an attribute is missing.
    """
    op_type = signature.op_type
    op_def = catalogue.ops.get(op_type)
    is_function = op_def is None and functions is not None and op_type in functions
    if is_function:
        assert functions is not None
        op_def = functions[op_type]
    elif op_def is None:
        op_def = catalogue.ops.lookup(op_type)
    attrs = {**op_def.defaults, **dict(signature.attrs)}
    inputs, outputs = declared_types(op_def, attrs)
    is_source = not len(inputs) and len(outputs) == 1
    output_kind = kind_of(outputs[0]) if is_source else PLAIN
    supported: list[tuple[str, int]] = []
    mismatch, error = False, None
    for device_type in device_types:
        if is_function:
            supported.append((device_type, 0))
            continue
        try:
            kernel, was_mismatch = catalogue.kernels.find(op_type, attrs, device_type)
        except OpError as lookup_error:
            error = lookup_error
            break
        mismatch = mismatch or was_mismatch
        if kernel is not None:
            supported.append((device_type, kernel.priority))
    return NodeFacts(
        signature=signature,
        attrs=attrs,
        is_function=is_function,
        input_types=inputs,
        output_types=outputs,
        input_kinds=mapped(inputs, kind_of),
        is_generator=is_source and output_kind != REF,
        makes_state=output_kind in (REF, RESOURCE),
        is_metadata=op_type in METADATA_OPS,
        is_identity=op_type in IDENTITY_OPS,
        is_dataset=is_dataset_op(op_type, outputs),
        is_exempt=op_type in EXEMPT_OPS[rules],
        supported=tuple(sorted(supported, key=lambda item: -item[1])),
        has_attr_mismatch=mismatch,
        kernel_error=error,
    )
