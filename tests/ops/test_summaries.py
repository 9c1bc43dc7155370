"""``tf.summary``: tags, collections, images against TensorFlow 1.15.5's, errors, and what TensorBoard reads."""

import io
import json
import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import (
    STORE_EVERYTHING_SIZE_GUIDANCE,
    EventAccumulator,
)

import gpuplace as tf
from tests.ops.summary_images import images

IMAGES = json.loads((Path(__file__).parent / "data" / "summary_images.json").read_text())


def values_of(summary, feed_dict=None):
    with tf.Session() as session:
        return list(tf.Summary.FromString(session.run(summary, feed_dict)).value)


@pytest.mark.parametrize("name", images())
def test_images_have_tensorflows_pixels(name):
    batch = images()[name]
    found = values_of(tf.summary.image(name, batch, 2))
    assert len(found) == len(IMAGES[name]) == len(batch)
    for value, (tag, height, width, colorspace, pixels) in zip(found, IMAGES[name], strict=True):
        image = value.image
        assert (value.tag, image.height, image.width, image.colorspace) == (tag, height, width, colorspace)
        decoded = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
        assert decoded.shape[:2] == (height, width)
        assert decoded.ravel().tolist() == pixels


def test_what_tf_image_makes_is_shown():
    """Bytes as they are; floats between 0 and 1 as shares of the brightest of each image."""
    pixels = np.random.default_rng(3).integers(0, 200, [2, 4, 5, 3]).astype(np.uint8)
    pixels[:, 0, 0, 0] = 200
    shares = tf.image.convert_image_dtype(pixels, tf.float32)
    mirrored = tf.image.flip_left_right(tf.image.decode_png(tf.image.encode_png(pixels[0])))
    tf.summary.image("mirrored", mirrored[tf.newaxis])
    tf.summary.image(
        "enlarged", tf.image.resize_images(shares, [8, 10], tf.image.ResizeMethod.NEAREST_NEIGHBOR)
    )
    found = {
        value.tag: np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
        for value in values_of(tf.summary.merge_all())
    }
    assert found["mirrored/image/0"].tolist() == pixels[0, :, ::-1].tolist()
    for number, image in enumerate(pixels):
        expected = np.floor(image.repeat(2, 0).repeat(2, 1) * (255 / 200))
        assert np.abs(found[f"enlarged/image/{number}"] - expected).max() <= 1


def test_every_image_is_recorded():
    assert set(IMAGES) == set(images())


def test_tags_are_names_with_scopes():
    def tag(summary):
        (value,) = values_of(summary)
        return value.tag

    assert tag(tf.summary.scalar("loss", 1.0)) == "loss"
    assert tag(tf.summary.scalar("loss", 1.0)) == "loss_1"
    with tf.name_scope("tower"):
        assert tag(tf.summary.scalar("loss", 1.0)) == "tower/loss"
        assert tag(tf.summary.scalar("loss", 1.0, family="losses")) == "losses/tower/losses/loss"
        assert tag(tf.summary.image("i", np.zeros([1, 2, 2, 1], np.float32), 1)) == "tower/i/image"
    assert tag(tf.summary.tensor_summary("raw", [1, 2])) == "raw"


def test_names_are_made_fit(caplog):
    with caplog.at_level(logging.INFO, "tensorflow"):
        summary = tf.summary.scalar("/my loss: a", 1.0)
    assert summary.name == "my_loss__a:0"
    assert caplog.messages == ["Summary name /my loss: a is illegal; using my_loss__a instead."]


def test_collections():
    everything = tf.summary.scalar("a", 1.0)
    mine = tf.summary.histogram("b", [1.0], collections=["mine"])
    nowhere = tf.summary.text("c", tf.constant("text"), collections=[])
    merged = tf.summary.merge([mine, nowhere], collections=["merged"])
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [everything]
    assert tf.get_collection("mine") == [mine] and tf.get_collection("merged") == [merged]
    assert tf.summary.merge_all("nothing") is None
    assert [value.tag for value in values_of(tf.summary.merge_all())] == ["a"]
    assert tf.summary.merge_all(scope="b") is None
    assert [value.tag for value in values_of(merged)] == ["b", "c"]


def test_metadata_is_the_callers_own():
    given = tf.SummaryMetadata(display_name="before")
    summary = tf.summary.tensor_summary("t", [1.0], "about", summary_metadata=given, display_name="shown")
    (value,) = values_of(summary)
    assert (value.metadata.display_name, value.metadata.summary_description) == ("shown", "about")
    assert given.display_name == "before" and not given.summary_description


def test_description_of_a_node():
    node = tf.NodeDef(op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "text"}'
    assert tf.summary.get_summary_description(node).type_hint == "text"
    with pytest.raises(ValueError, match="Can't get_summary_description on Const"):
        tf.summary.get_summary_description(tf.NodeDef(op="Const"))


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_errors_of_a_run_are_in_the_words_of_the_release(release):
    tf.set_release(release)
    x = tf.placeholder(tf.float32)
    scalar, histogram = tf.summary.scalar("loss", x), tf.summary.histogram("weights", x)
    sound = tf.summary.audio("sound", x, 8000.0)
    are, infinity = ("are ", "Histogram") if release == "2.21" else ("", "summary histogram")
    wrong = tf.errors.InvalidArgumentError
    with tf.Session() as session:
        with pytest.raises(
            wrong, match=rf"tags and values {are}not the same shape: \[\] != \[2\] \(tag 'loss'\)"
        ):
            session.run(scalar, {x: [1.0, 2.0]})
        with pytest.raises(wrong, match=f"Infinity in {infinity} for: weights"):
            session.run(histogram, {x: [np.inf, np.nan]})
        with pytest.raises(wrong, match="Nan in summary histogram for: weights"):
            session.run(histogram, {x: [1.0, np.nan]})
        if release == "1.15":
            with pytest.raises(wrong, match="num_frames must be positive"):
                session.run(sound, {x: np.zeros([1, 0])})
        else:
            assert (
                tf.Summary.FromString(session.run(sound, {x: np.zeros([1, 0])})).value[0].tag
                == "sound/audio/0"
            )


def test_what_is_wrong_when_the_graph_is_built():
    with pytest.raises(TypeError, match="has DataType bool not in list of allowed values"):
        tf.summary.scalar("flag", True)
    with pytest.raises(ValueError, match="passed 0 less than minimum 1"):
        tf.summary.image("i", np.zeros([1, 2, 2, 1], np.float32), max_outputs=0)
    with pytest.raises(ValueError, match="Expected tensor .* to have dtype string, got"):
        tf.summary.text("t", tf.constant(3))
    with pytest.raises(ValueError, match="shorter than minimum length 1"):
        tf.summary.merge([])


def test_tensorboard_reads_every_kind(tmp_path):
    step = tf.placeholder(tf.float32, [])
    tf.summary.scalar("curve", step * 2)
    tf.summary.histogram("spread", tf.stack([step, -step, 0.0]))
    tf.summary.image("picture", tf.fill([1, 2, 2, 3], step))
    tf.summary.audio("sound", tf.zeros([1, 10]), 8000)
    tf.summary.text("note", tf.as_string(step, precision=1))
    merged = tf.summary.merge_all()
    with tf.Session() as session, tf.summary.FileWriter(tmp_path, session.graph) as writer:
        for number in range(3):
            writer.add_summary(session.run(merged, {step: number}), number)
    events = EventAccumulator(str(tmp_path), STORE_EVERYTHING_SIZE_GUIDANCE).Reload()
    assert [(event.step, event.value) for event in events.Scalars("curve")] == [(0, 0.0), (1, 2.0), (2, 4.0)]
    assert [event.histogram_value.max for event in events.Histograms("spread")] == [0.0, 1.0, 2.0]
    assert len(events.Images("picture/image/0")) == len(events.Audio("sound/audio/0")) == 3
    assert events.SummaryMetadata("note").plugin_data.plugin_name == "text"
    assert [event.tensor_proto.string_val[0] for event in events.Tensors("note")] == [b"0.0", b"1.0", b"2.0"]
    assert {node.name for node in events.Graph().node} >= {"curve", "Merge/MergeSummary"}


def test_a_gpu_computes_what_a_cpu_shows():
    tf.use_machine("1x Tesla K40c")
    with tf.device("/gpu:0"):
        x = tf.constant([1.0, 2.0]) * 3.0
    summary = tf.summary.histogram("h", x)
    with tf.Session() as session:
        assert tf.Summary.FromString(session.run(summary)).value[0].histo.sum == 9.0
        assert session.placement[summary.op.name].endswith("CPU:0")
