"""What layers take: `tf.layers.InputSpec`; sentences are TensorFlow 1.15.5's."""

import pytest

import gpuplace as tf
from gpuplace.ops.layers.input_spec import to_tensor_shape
from gpuplace.tf1.stand_in.names import resolve


def layer_of(spec):
    class Same(tf.layers.Layer):
        def __init__(self):
            super().__init__(name="same")
            self.input_spec = spec

    return Same()


UNKNOWN = "its rank is undefined, but the layer requires a defined rank."
FAULTS = [
    ({"ndim": 2}, [3], "expected ndim=2, found ndim=1. Full shape received: [3]"),
    ({"ndim": 2}, None, UNKNOWN),
    ({"min_ndim": 2}, [3], ": expected min_ndim=2, found ndim=1. Full shape received: [3]"),
    ({"min_ndim": 2}, None, UNKNOWN),
    ({"max_ndim": 1}, [3, 4], "expected max_ndim=1, found ndim=2"),
    ({"max_ndim": 1}, None, UNKNOWN),
    ({"dtype": "int32"}, [3], "expected dtype=int32, found dtype=<dtype: 'float32'>"),
    (
        {"axes": {-1: 2}},
        [None, 3],
        "expected axis -1 of input shape to have value 2 but received input with shape [None, 3]",
    ),
]


@pytest.mark.parametrize(("spec", "shape", "fault"), FAULTS)
def test_inputs_that_do_not_fit(spec, shape, fault):
    with pytest.raises(ValueError) as raised:
        layer_of(tf.layers.InputSpec(**spec))(tf.placeholder(tf.float32, shape))
    assert str(raised.value) == f"Input 0 of layer same is incompatible with the layer: {fault}"


def test_inputs_that_fit():
    x = tf.placeholder(tf.float32, [None, 3])
    fitting = tf.layers.InputSpec(dtype=tf.float32, ndim=2, max_ndim=2, min_ndim=1, axes={1: 3, 0: 7})
    for spec in (None, fitting, tf.layers.InputSpec(shape=(5, None)), [fitting]):
        assert layer_of(spec)(x) is x
    with pytest.raises(
        ValueError, match=r"Input 0 is incompatible with layer same: expected shape=\(5, 2\), found "
    ):
        layer_of(tf.layers.InputSpec(shape=(5, 2)))(x)
    with pytest.raises(ValueError, match="Layer same expects 2 inputs, but it received 1 input tensors"):
        layer_of([fitting, None])(x)
    with pytest.raises(ValueError, match="expected axis 1 of input shape to have value 4"):
        layer_of([None, tf.layers.InputSpec(axes={1: 4})])([x, x])


def test_specs():
    spec = tf.layers.InputSpec(shape=(3, None), dtype="int32", axes={"1": 2})
    assert repr(spec) == "InputSpec(dtype=int32, shape=(3, None), ndim=2, axes={1: 2})"
    again = tf.layers.InputSpec.from_config(spec.get_config())
    assert again.get_config() == spec.get_config()
    assert to_tensor_shape(spec).as_list() == [3, None]
    assert to_tensor_shape(tf.layers.InputSpec(ndim=2, axes={0: 5})).as_list() == [5, None]
    assert to_tensor_shape(tf.layers.InputSpec(min_ndim=2)).ndims is None
    with pytest.raises(TypeError, match="The keys in axes must be integers"):
        tf.layers.InputSpec(axes={"last": 3})
    with pytest.raises(ValueError, match="Axis 2 is greater than the maximum allowed value: 1"):
        tf.layers.InputSpec(ndim=2, axes={2: 3})
    assert resolve("tensorflow.python.keras.engine.input_spec").InputSpec is tf.layers.InputSpec
