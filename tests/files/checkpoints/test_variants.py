"""Values of type variant in checkpoints; the bytes are what TensorFlow 1.15.5 wrote for an iterator."""

import numpy as np
import pytest

from gpuplace.dtypes import variant
from gpuplace.errors import DataLossError, UnimplementedError
from gpuplace.files.checkpoints.bundle import Bundle, SavedTensor, data_file, write_bundle
from gpuplace.files.checkpoints.messages import VariantTensorDataProto
from gpuplace.files.checkpoints.variants import EncodedVariant, decoded_variants, encoded_variants
from gpuplace.files.crc32c import mask

WRITTEN = b">\n\x14tensorflow::Iterator\x12\x1d@@Iterator::Model::Range:next\x1a\x07\x08\t\x12\x00R\x01\x028\xc7\xdfV"
CHECKSUM = 4290535674
TWO = np.array([EncodedVariant("a kind", b"12"), EncodedVariant("b", b"")], object)


def test_what_tensorflow_wrote_is_read():
    (value,), checksum = decoded_variants(WRITTEN, 1)
    assert value == EncodedVariant("tensorflow::Iterator", b"@@Iterator::Model::Range:next")
    assert mask(checksum) == CHECKSUM


def test_what_is_written_is_read():
    data, checksum = encoded_variants(list(TWO))
    assert decoded_variants(data, 2) == (list(TWO), checksum)
    message = VariantTensorDataProto(type_name="a kind", metadata=b"12").SerializeToString()
    assert data[: 1 + len(message)] == bytes([len(message)]) + message


@pytest.mark.parametrize("damage", [WRITTEN[:-1], WRITTEN + b"1", WRITTEN.replace(b"Range", b"range"), b""])
def test_damage_is_noticed(damage):
    with pytest.raises(
        ValueError, match=r"variant cannot be read|checksum after length|bytes after the values"
    ):
        decoded_variants(damage, 1)


def test_bundles_of_them(tmp_path):
    prefix = str(tmp_path / "model")
    write_bundle(
        prefix, [SavedTensor("v", TWO, variant), SavedTensor("one", np.array(TWO[0], object), variant)]
    )
    bundle = Bundle(prefix)
    assert bundle.read("v").tolist() == TWO.tolist()
    assert bundle.read("one").item() == TWO[0]
    path = data_file(prefix, 0, 1)
    with open(path, "r+b") as file:
        file.seek(5)
        file.write(b"?")
    with pytest.raises(DataLossError):
        Bundle(prefix).read("v")
    with pytest.raises(UnimplementedError, match="A tensor of type variant cannot be saved: v is int"):
        write_bundle(prefix, [SavedTensor("v", np.array([1], object), variant)])
