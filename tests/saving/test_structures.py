"""Structures as messages; the bytes are those of TensorFlow 1.15.5."""

from collections import namedtuple

import pytest

import gpuplace as tf
from gpuplace.tf1.stand_in.names import resolve

P = namedtuple("P", ["x", "y"])
RECORDED = (
    "9a03f0010a0260020a16a203130a095900000000000004400a020a000a0270010a10aa030d0a0b0a016112066a04746578740a2bb203280a01"
    "5012190a01781214fa0111120b08ffffffffffffffffff011202080312080a017912038002090a0e8a020b0a016e12041202080218010a3792"
    "02340801121ea2031b0a14fa0111120b08ffffffffffffffffff01120208140a038002011a1053706172736554656e736f72537065630a4a92"
    "024708021230a2032d0a0bfa010812020802120208030a038002010a038002090a020a000a10fa010d120b08ffffffffffffffffff011a1149"
    "6e6465786564536c6963657353706563"
)


def structure():
    return [
        *(1, (2.5, None, True), {"a": "text"}, P(tf.TensorShape([None, 3]), tf.int64)),
        *(tf.TensorSpec([2], tf.float32, "n"), tf.SparseTensorSpec([None, 20], tf.float32)),
        tf.IndexedSlicesSpec([2, 3], tf.float32),
    ]


def coder():
    return resolve("tensorflow.python.saved_model.nested_structure_coder").StructureCoder()


def test_the_message_is_tensorflows():
    assert coder().encode_structure(structure()).SerializeToString().hex() == RECORDED


def test_a_message_gives_the_structure_again():
    given, found = structure(), coder().decode_proto(coder().encode_structure(structure()))
    assert found[:3] == given[:3] and found[4:] == given[4:]
    assert type(found[3]).__name__ == "P" and found[3]._asdict() == given[3]._asdict()
    datasets = [tf.data.DatasetSpec({"a": tf.TensorSpec([2], tf.int32)}), [], (), {}]
    assert coder().decode_proto(coder().encode_structure(datasets)) == datasets


def test_what_there_is_no_message_for():
    assert not coder().can_encode([object()]) and coder().can_encode([False])
    message = coder().encode_structure(tf.SparseTensorSpec([2], tf.float32))
    message.type_spec_value.type_spec_class, message.type_spec_value.type_spec_class_name = 0, "Later"
    with pytest.raises(ValueError, match="The type 'Later' is not supported"):
        coder().decode_proto(message)
    with pytest.raises(Exception, match="No encoder for object"):
        coder().decode_proto(type(message)())
