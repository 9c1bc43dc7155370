"""``variant`` values in checkpoints: each is stored as a message with its type and content.

    for each value:   length (varint) | VariantTensorDataProto | checksum of all before it, its own length as 8 bytes

Source: WriteVariantTensor and ReadVariantTensor in tensorflow/core/util/tensor_bundle/tensor_bundle.cc, release 1.15.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from gpuplace.files.checkpoints.table import read_varint, varint
from gpuplace.files.crc32c import crc32c, mask, unmask

__all__ = ["EncodedVariant", "decoded_variants", "encoded_variants"]


@dataclass(frozen=True)
class EncodedVariant:
    """A ``variant`` value without tensors.

    >>> data, _ = encoded_variants([EncodedVariant("a kind", b"12")])
    >>> decoded_variants(data, 1)[0]
    [EncodedVariant(type_name='a kind', metadata=b'12')]
    """

    type_name: str
    """Type of the value."""
    metadata: bytes
    """Serialized content."""


def encoded_variants(values: Sequence[EncodedVariant]) -> tuple[bytes, int]:
    """Serialize values; return the bytes and their checksum.

    Args:
        values: values to serialize.
    """
    from gpuplace.files.checkpoints.messages import VariantTensorDataProto

    written, checksum = [], 0
    for value in values:
        message = VariantTensorDataProto(type_name=value.type_name, metadata=value.metadata)
        data = message.SerializeToString(deterministic=True)
        checksum = crc32c(data, crc32c(struct.pack("<Q", len(data)), checksum))
        stored = struct.pack("<I", mask(checksum))
        checksum = crc32c(stored, checksum)
        written += [varint(len(data)), data, stored]
    return b"".join(written), checksum


def decoded_variants(data: bytes, count: int) -> tuple[list[EncodedVariant], int]:
    """Parse serialized values; return them and the checksum of all.

    Args:
        data: serialized values.
        count: number of values.

    Raises:
        ValueError: the data are damaged.
    """
    from gpuplace.files.checkpoints.messages import DecodeError, VariantTensorDataProto

    values, at, checksum = [], 0, 0
    for _ in range(count):
        try:
            length, at = read_varint(data, at)
            content, stored = data[at : at + length], data[at + length : at + length + 4]
            (expected,) = struct.unpack("<I", stored)
            message = VariantTensorDataProto.FromString(content)
        except (IndexError, struct.error, DecodeError) as error:
            raise ValueError(f"a value of type variant cannot be read: {error}") from None
        at += length + 4
        checksum = crc32c(content, crc32c(struct.pack("<Q", length), checksum))
        if unmask(expected) != checksum:
            raise ValueError(
                f"The checksum after length does not match: expected {unmask(expected)} but got {checksum}"
            )
        checksum = crc32c(stored, checksum)
        values.append(EncodedVariant(message.type_name, message.metadata))
    if at != len(data):
        raise ValueError(f"{len(data) - at} extra bytes after the values")
    return values, checksum
