"""Values of type ``variant`` in checkpoints: each as the message that tells what it is made of.

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
    """What a value of type ``variant`` is made of, without tensors.

    >>> data, _ = encoded_variants([EncodedVariant("a kind", b"12")])
    >>> decoded_variants(data, 1)[0]
    [EncodedVariant(type_name='a kind', metadata=b'12')]
    """

    type_name: str
    """Of which kind it is."""
    metadata: bytes
    """All that is to be known of it."""


def encoded_variants(values: Sequence[EncodedVariant]) -> tuple[bytes, int]:
    """What is written for values, and its checksum.

    Args:
        values: the values.
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
    """The values that were written, and the checksum of all.

    Args:
        data: what was written.
        count: how many values there are.

    Raises:
        ValueError: it is damaged.
    """
    from gpuplace.files.checkpoints.messages import DecodeError, VariantTensorDataProto

    found, at, checksum = [], 0, 0
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
        found.append(EncodedVariant(message.type_name, message.metadata))
    if at != len(data):
        raise ValueError(f"there are {len(data) - at} bytes more than the values have")
    return found, checksum
