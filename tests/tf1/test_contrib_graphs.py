"""The graphs of ``tf.contrib.slim`` and ``tf.contrib.seq2seq``, node by node, against those of TensorFlow 1.15.5."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.ops.test_graphs_as_tensorflow import rows
from tests.tf1.contrib_programs import PROGRAMS

slim = tf.contrib.slim


@pytest.fixture(scope="module")
def recorded() -> dict:
    path = Path(__file__).parent / "data" / "contrib-graphs-1.15.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_nodes_are_those_of_tensorflow(name, recorded):
    graph = tf.Graph()
    with graph.as_default():
        PROGRAMS[name](tf)
    found, expected = rows(graph), recorded[name]
    for ours, theirs in zip(found, expected, strict=False):
        assert [*ours[:2], sorted(ours[2]), *ours[3:]] == [*theirs[:2], sorted(theirs[2]), *theirs[3:]]
    assert [row[0] for row in found] == [row[0] for row in expected]


def test_every_program_is_recorded(recorded):
    assert set(recorded) == set(PROGRAMS)


def test_losses_take_predictions_first():
    logits, truth = tf.constant([[2.0, 0.0, 1.0], [0.5, 0.5, 3.0]]), tf.constant([[1.0, 0, 0], [0, 0, 1.0]])
    weights = tf.constant([1.0, 0.0])
    made = [
        slim.losses.softmax_cross_entropy(logits, truth),
        slim.losses.softmax_cross_entropy(logits, truth, weights),
        slim.losses.sparse_softmax_cross_entropy(logits, tf.constant([[0], [2]])),
        slim.losses.mean_pairwise_squared_error(logits, truth),
        slim.losses.cosine_distance(logits, truth, axis=1),
        slim.losses.get_total_loss(),
    ]
    each = -np.log([np.exp(2) / np.exp([2, 0, 1]).sum(), np.exp(3) / np.exp([0.5, 0.5, 3]).sum()])
    first = [each.mean(), each[0], each.mean()]
    with tf.Session() as session:
        found = session.run(made)
    np.testing.assert_allclose(found[:3], first, rtol=1e-5)
    np.testing.assert_allclose(found[4], 1 - 5 / 2, rtol=1e-5)
    np.testing.assert_allclose(found[5], sum(found[:5]), rtol=1e-5)


def test_a_net_may_end_early_and_names_its_layers():
    inception = slim.nets.inception
    net, ends = inception.inception_v1_base(tf.zeros([1, 64, 64, 3]), "Mixed_3b")
    assert net is ends["Mixed_3b"] and net.shape.as_list() == [1, 8, 8, 256]
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9z; there are Conv2d_1a_7x7"):
        inception.inception_v1_base(tf.zeros([1, 64, 64, 3]), "Mixed_9z", "other")


@pytest.mark.parametrize("stride, sentence", [(6, "multiple of 4"), (64, "cannot be reached")])
def test_a_residual_net_has_the_stride_it_is_asked_for(stride, sentence):
    with pytest.raises(ValueError, match=sentence):
        slim.nets.resnet_v2.resnet_v2_50(tf.zeros([1, 64, 64, 3]), output_stride=stride)


def test_examples_are_read_and_decoded(tmp_path):
    pixels = np.random.RandomState(0).randint(0, 255, (4, 5, 7, 3)).astype(np.uint8)
    with tf.Session() as session, tf.python_io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as writer:
        for number, image in enumerate(pixels):
            example = tf.train.Example()
            feature = example.features.feature
            feature["image/encoded"].bytes_list.value.append(session.run(tf.image.encode_png(image)))
            feature["image/format"].bytes_list.value.append(b"png")
            feature["label"].int64_list.value.append(number)
            writer.write(example.SerializeToString())
    text = tf.FixedLenFeature((), tf.string, "")
    features = {"image/encoded": text, "image/format": text, "label": tf.FixedLenFeature([], tf.int64)}
    decoder = slim.tfexample_decoder
    items = {"image": decoder.Image(shape=[5, 7, 3]), "label": decoder.Tensor("label")}
    data_set = slim.dataset.Dataset(
        str(tmp_path / "*.tfrecord"), tf.TFRecordReader, decoder.TFExampleDecoder(features, items), 4, {}
    )
    provider = slim.dataset_data_provider.DatasetDataProvider(data_set, shuffle=False)
    assert provider.num_samples() == 4 and set(provider.list_items()) == {"image", "label", "record_key"}
    with pytest.raises(
        ValueError, match=r"Item \[colour\] is invalid. Valid entries include: 'image', 'label'"
    ):
        provider.get(["colour"])
    with tf.Session() as session, slim.queues.QueueRunners(session):
        for number in range(6):  # it goes on from the start
            image, label = session.run(provider.get(["image", "label"]))
            assert label == number % 4
            np.testing.assert_array_equal(image, pixels[number % 4])


def test_sources_that_are_not_there():
    with pytest.raises(ValueError, match="No data files found in /nowhere/"):
        slim.parallel_reader.parallel_read("/nowhere/*.tfrecord", tf.TFRecordReader)


def test_collected_outputs_have_the_names_of_their_layers():
    x = tf.zeros([1, 8, 8, 3])
    with slim.arg_scope(
        [slim.conv2d, slim.max_pool2d, slim.flatten, slim.layer_norm], outputs_collections="ends"
    ):
        net = slim.flatten(slim.max_pool2d(slim.layer_norm(slim.conv2d(x, 4, 3, scope="a")), 2, scope="b"))
    ends = slim.utils.convert_collection_to_dict("ends", clear_collection=True)
    assert list(ends) == ["a", "LayerNorm", "b", "Flatten"] and ends["Flatten"] is net
    assert net.aliases == ["Flatten"] and not tf.get_collection("ends")
    assert slim.utils.gather_tensors_aliases([x, net]) == ["zeros", "Flatten"]
