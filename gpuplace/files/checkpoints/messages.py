"""Messages in checkpoint files that TensorBoard does not include. Importing this module loads protobuf.

>>> entry = BundleEntry(dtype=1, size=4)
>>> BundleEntry.FromString(entry.SerializeToString()) == entry
True

Source: tensorflow/core/protobuf/tensor_bundle.proto, tensorflow/core/framework/tensor_slice.proto and
tensorflow/core/util/saved_tensor_slice.proto, release 1.15 (field names and numbers).
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.tensor_pb2 import TensorProto, VariantTensorDataProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from gpuplace.proto import FIELD, MANY, ONE, message_classes

__all__ = [
    "BundleEntry",
    "BundleHeader",
    "DecodeError",
    "SavedTensorSlices",
    "TensorProto",
    "TensorSlice",
    "VariantTensorDataProto",
]

_SHAPE = TensorShapeProto.DESCRIPTOR.full_name
_MESSAGES: dict[str, Any] = {
    "Extent": (("start", 1, FIELD.TYPE_INT64, ONE), ("length", 2, FIELD.TYPE_INT64, "has_length")),
    "TensorSlice": (("extent", 1, "gpuplace.Extent", MANY),),
    "BundleHeader": (
        ("num_shards", 1, FIELD.TYPE_INT32, ONE),
        ("endianness", 2, FIELD.TYPE_INT32, ONE),
        ("version", 3, VersionDef.DESCRIPTOR.full_name, ONE),
    ),
    "BundleEntry": (
        ("dtype", 1, FIELD.TYPE_INT32, ONE),
        ("shape", 2, _SHAPE, ONE),
        ("shard_id", 3, FIELD.TYPE_INT32, ONE),
        ("offset", 4, FIELD.TYPE_INT64, ONE),
        ("size", 5, FIELD.TYPE_INT64, ONE),
        ("crc32c", 6, FIELD.TYPE_FIXED32, ONE),
        ("slices", 7, "gpuplace.TensorSlice", MANY),
    ),
    "SavedSliceMeta": (
        ("name", 1, FIELD.TYPE_STRING, ONE),
        ("shape", 2, _SHAPE, ONE),
        ("type", 3, FIELD.TYPE_INT32, ONE),
        ("slice", 4, "gpuplace.TensorSlice", MANY),
    ),
    "SavedTensorSliceMeta": (
        ("tensor", 1, "gpuplace.SavedSliceMeta", MANY),
        ("versions", 2, VersionDef.DESCRIPTOR.full_name, ONE),
    ),
    "SavedSlice": (
        ("name", 1, FIELD.TYPE_STRING, ONE),
        ("slice", 2, "gpuplace.TensorSlice", ONE),
        ("data", 3, TensorProto.DESCRIPTOR.full_name, ONE),
    ),
    "SavedTensorSlices": (
        ("meta", 1, "gpuplace.SavedTensorSliceMeta", ONE),
        ("data", 2, "gpuplace.SavedSlice", ONE),
    ),
}

_made = message_classes("checkpoints", _MESSAGES, [TensorProto, TensorShapeProto, VersionDef])
TensorSlice: Any = _made["TensorSlice"]
BundleHeader: Any = _made["BundleHeader"]
BundleEntry: Any = _made["BundleEntry"]
SavedTensorSlices: Any = _made["SavedTensorSlices"]
