"""MNIST: files that are there, a drawn set where they are not, and batches in TensorFlow's order."""

import gzip
import logging
import struct

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.data_sets import mnist
from gpuplace.tf1.stand_in import names


def idx(magic, array):
    return struct.pack(f">{1 + array.ndim}i", magic, *array.shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path):
    """A set of 30 and 10 pictures of 2 x 3 pixels; the labels not gzipped."""
    for name, count in (("train", 30), ("t10k", 10)):
        images = (np.arange(count * 6) % 256).astype(np.uint8).reshape(count, 2, 3)
        labels = (np.arange(count) % 10).astype(np.uint8)
        (tmp_path / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(2051, images)))
        (tmp_path / f"{name}-labels-idx1-ubyte").write_bytes(idx(2049, labels))
    return tmp_path


def test_files_are_read(folder, capsys):
    data = mnist.read_data_sets(str(folder), one_hot=True, validation_size=5)
    assert [part.num_examples for part in data] == [25, 5, 10]
    assert (data.train.images.shape, data.train.images.dtype) == ((25, 6), np.float32)
    assert data.validation.images[1].tolist() == np.float32(np.arange(6, 12) * np.float32(1 / 255)).tolist()
    assert data.test.labels.argmax(1).tolist() == list(range(10))
    assert capsys.readouterr().out.count("Extracting ") == 4
    data = mnist.read_data_sets(str(folder), dtype=tf.uint8, reshape=False, validation_size=0)
    assert (data.train.images.shape, data.train.images.dtype) == ((30, 2, 3, 1), np.uint8)
    assert data.train.labels[:12].tolist() == [*range(10), 0, 1]


def test_the_folder_is_made_where_it_can_be(tmp_path):
    mnist.read_data_sets(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir() and not list((tmp_path / "a" / "b").iterdir())
    (tmp_path / "file").write_text("")
    assert mnist.read_data_sets(str(tmp_path / "file" / "data")).train.num_examples > 0


def test_what_is_wrong_with_files(folder):
    with pytest.raises(ValueError, match=r"Validation size should be between 0 and 30. Received: 31."):
        mnist.read_data_sets(str(folder), validation_size=31)
    with pytest.raises(TypeError, match="Invalid image dtype tf.int32, expected uint8 or float32"):
        mnist.read_data_sets(str(folder), dtype=tf.int32, validation_size=1)
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(2049, np.zeros(3, np.uint8))))
    with pytest.raises(ValueError, match="Invalid magic number 2049 in MNIST image file: "):
        mnist.read_data_sets(str(folder), validation_size=1)
    (folder / "t10k-images-idx3-ubyte.gz").unlink()
    with pytest.raises(tf.errors.NotFoundError, match="t10k-images-idx3-ubyte.gz; No such file or directory"):
        mnist.read_data_sets(str(folder), validation_size=1)


def test_without_files_digits_are_drawn_and_that_is_said_once(tmp_path, caplog):
    mnist._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING, "tensorflow"):
        data = mnist.read_data_sets(str(tmp_path / "no"))
        mnist.read_data_sets(str(tmp_path / "no"))
    assert caplog.text.count("synthetic") == 1
    assert [part.num_examples for part in data] == [7000, 5000, 2000]
    assert data.test.images.shape == (2000, 784) and 0 <= data.test.images.min() < data.test.images.max() <= 1
    assert np.bincount(data.test.labels, minlength=10).min() > 100
    nearest = [
        data.validation.labels[np.abs(data.validation.images - image).sum(1).argmin()]
        for image in data.test.images[:100]
    ]
    assert np.mean(nearest == data.test.labels[:100]) > 0.95, "they can be told apart"


def test_batches_come_in_tensorflows_order(folder):
    """Recorded from 1.15 with the same 30 examples and seed."""
    data = mnist.read_data_sets(str(folder), validation_size=0, seed=3)
    labels = [data.train.next_batch(12)[1].tolist() for _ in range(4)]
    assert labels == RECORDED
    assert (data.train.epochs_completed, data.test.epochs_completed) == (1, 0)
    in_order = mnist.read_data_sets(str(folder), validation_size=0).train
    assert in_order.next_batch(4, shuffle=False)[1].tolist() == [0, 1, 2, 3]


RECORDED = [
    [5, 5, 2, 6, 8, 4, 3, 2, 6, 1, 7, 7],
    [7, 2, 4, 3, 6, 0, 9, 1, 9, 9, 1, 0],
    [8, 8, 3, 5, 4, 0, 9, 2, 6, 7, 3, 1],
    [9, 0, 8, 3, 0, 1, 8, 2, 1, 9, 5, 4],
]


def test_fake_data():
    data = mnist.read_data_sets("nowhere", fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(2, fake_data=True)
    assert (len(images[0]), labels) == (784, [[1] + [0] * 9] * 2)
    assert data.train.num_examples == 10000


@pytest.mark.parametrize(
    "statement",
    [
        "from tensorflow.examples.tutorials.mnist import input_data as found",
        "import tensorflow.examples.tutorials.mnist.input_data as found",
        "from tensorflow.contrib.learn.python.learn.datasets import mnist as found",
        "import tensorflow as tf; found = tf.contrib.learn.datasets.mnist",
    ],
)
def test_scripts_import_it(statement):
    names.install()
    try:
        found: dict = {}
        exec(statement, found)
        assert found["found"].read_data_sets is mnist.read_data_sets
    finally:
        names.uninstall()


def test_a_copy_beside_the_script_goes_first(tmp_path, monkeypatch):
    place = tmp_path / "tensorflow" / "examples" / "tutorials" / "mnist"
    place.mkdir(parents=True)
    (place / "input_data.py").write_text("mine = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names.install()
    try:
        from tensorflow.examples.tutorials.mnist import input_data

        assert input_data.mine
    finally:
        names.uninstall()


def test_a_data_set_by_its_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert tf.contrib.learn.datasets.load_dataset("mnist").train.num_examples == 7000
    with pytest.raises(ValueError, match="name of dataset is not found: iris2"):
        tf.contrib.learn.datasets.load_dataset("iris2")
