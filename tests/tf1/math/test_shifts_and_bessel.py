"""``tf.signal.fftshift`` and ``ifftshift``, ``tf.math.bessel_i0`` and ``bessel_i1``; expected: TensorFlow 1.15.5."""

import numpy as np
import pytest

import gpuplace as tf

NODES = (
    "x fftshift/shift fftshift/axis fftshift ifftshift/shift ifftshift/axis ifftshift both/shift both/axis both y"
    " bessel_i0/Abs bessel_i0/Exp bessel_i0/BesselI0e bessel_i0/mul one/Abs one/Exp one/BesselI1e one/mul"
)
"""What TensorFlow 1.15.5 adds, in this order."""


def test_nodes_and_values_are_those_of_tensorflow():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.zeros([3, 4], name="x")
        tf.signal.fftshift(x)
        tf.signal.ifftshift(x, axes=0)
        tf.signal.fftshift(x, axes=[1, 0], name="both")
        y = tf.constant([0.5, -3.0], name="y")
        found = [tf.math.bessel_i0(y), tf.math.bessel_i1(y, name="one")]
        assert " ".join(node.name for node in graph.as_graph_def().node) == NODES
        slopes = tf.gradients(found[0] + found[1], y)[0]
        with tf.Session() as session:
            found = session.run([*found, slopes])
    expected = [
        [1.063483476638794, 4.880792617797852],
        [0.2578943371772766, -3.9533705711364746],
        [0.8055891394615173, -0.3903679847717285],
    ]
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("axes", [None, 0, -1, (0, 1), [1, 0]])
@pytest.mark.parametrize("shape", [(3, 4), (5, 2)])
def test_halves_change_places_as_in_numpy(shape, axes):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    there, back = tf.signal.fftshift(x, axes), tf.signal.ifftshift(x, axes)
    with tf.Session() as session:
        there, back = session.run([there, back])
    assert (there == np.fft.fftshift(x, axes)).all() and (back == np.fft.ifftshift(x, axes)).all()
