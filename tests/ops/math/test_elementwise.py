"""What elementwise ops say at run time of inputs that do not fit."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.mark.parametrize("position", [1, 2])
def test_sums_of_unlike_shapes(position):
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(tf.float32) for _ in range(3)]
        total = tf.add_n(inputs, name="total")
        feeds = {tensor: np.ones((2, 4)) for tensor in inputs}
        feeds[inputs[position]] = np.ones((3, 4))
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            session.run(total, feeds)
    assert error.value.message.startswith(
        "Inputs to operation total of type AddN must have the same size and shape."
        f"  Input 0: [2,4] != input {position}: [3,4]"
    )
