"""Objects in JSON."""

import json

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.stand_in.names import resolve


def test_objects_in_json():
    get_json_type = resolve("tensorflow.python.util.serialization").get_json_type
    given = [
        np.int64(5),
        np.ones([1, 2]),
        tf.TensorShape([None, 2]),
        tf.Dimension(3),
        max,
        tf.zeros_initializer(),
    ]
    expected = [5, [[1, 1]], [None, 2], 3, "max", {"class_name": "Zeros", "config": {"dtype": "float32"}}]
    assert json.loads(json.dumps(given, default=get_json_type)) == expected
    with pytest.raises(TypeError, match="Not JSON Serializable"):
        json.dumps(object(), default=get_json_type)
