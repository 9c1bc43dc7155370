"""``tensorflow.examples.tutorials.mnist.input_data``: the MNIST data set, from files or synthetic.

The four files are read from the folder that the program names. Nothing is downloaded: if the files are missing, a small
synthetic set takes their place, with one warning.

Source: tensorflow/contrib/learn/python/learn/datasets/mnist.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import logging
import os
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import as_dtype, float32, uint8
from gpuplace.errors import NotFoundError, OpError
from gpuplace.files.file_system import makedirs
from gpuplace.ops.random.random_ops import get_seed
from gpuplace.tf1.data_sets.synthetic import digits
from gpuplace.typing import DTypeLike

__all__ = [
    "DataSet", "Datasets", "dense_to_one_hot", "extract_images", "extract_labels", "load_mnist", "read_data_sets",
]  # fmt: skip

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
"""Where TensorFlow downloads the files from."""

TRAIN_IMAGES = "train-images-idx3-ubyte.gz"
TRAIN_LABELS = "train-labels-idx1-ubyte.gz"
TEST_IMAGES = "t10k-images-idx3-ubyte.gz"
TEST_LABELS = "t10k-labels-idx1-ubyte.gz"

_DRAWN_TRAIN, _DRAWN_TEST = 12_000, 2_000
"""Number of images in the synthetic set."""

_log = logging.getLogger("tensorflow")


def _read32(stream: Any) -> int:
    return int.from_bytes(stream.read(4), "big")


def _name_of(f: Any) -> str:
    return str(getattr(f, "name", f))


def extract_images(f: Any) -> Any:
    """Return the images of a gzipped file.

    Args:
        f: the file, open to read bytes.

    Returns:
        uint8 ``[n, height, width, 1]``.

    Raises:
        ValueError: it is not an image file.
    """
    print("Extracting", _name_of(f))
    with gzip.GzipFile(fileobj=f) as stream:
        return _images(stream, _name_of(f))


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> Any:
    """Return the labels of a gzipped file.

    Args:
        f: the file, open to read bytes.
        one_hot: whether to return one-hot rows.
        num_classes: length of a one-hot row.

    Returns:
        uint8 ``[n]``, or float64 ``[n, num_classes]``.

    Raises:
        ValueError: it is not a label file.
    """
    print("Extracting", _name_of(f))
    with gzip.GzipFile(fileobj=f) as stream:
        return _labels(stream, _name_of(f), one_hot, num_classes)


def _images(stream: Any, name: str) -> Any:
    magic = _read32(stream)
    if magic != 2051:
        raise ValueError(f"Invalid magic number {magic} in MNIST image file: {name}")
    shape = [_read32(stream) for _ in range(3)]
    return np.frombuffer(stream.read(), np.uint8, int(np.prod(shape))).reshape(*shape, 1)


def _labels(stream: Any, name: str, one_hot: bool, num_classes: int = 10) -> Any:
    magic = _read32(stream)
    if magic != 2049:
        raise ValueError(f"Invalid magic number {magic} in MNIST label file: {name}")
    count = _read32(stream)
    labels = np.frombuffer(stream.read(), np.uint8, count)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> Any:
    """Return labels as one-hot rows.

    Args:
        labels_dense: integers, ``[n]``.
        num_classes: length of a row.

    Returns:
        float64 ``[n, num_classes]``.
    """
    return np.eye(num_classes)[np.asarray(labels_dense).reshape(-1)]


class DataSet:
    """Images and their labels, in batches.

    Args:
        images: ``[n, height, width, 1]``, uint8.
        labels: ``[n]`` or ``[n, classes]``.
        fake_data: whether every batch repeats one constant image.
        one_hot: whether ``fake_data`` has one-hot labels.
        dtype: ``tf.uint8`` for 0 to 255 or ``tf.float32`` for 0 to 1.
        reshape: whether to flatten images to rows of pixels.
        seed: seed of the order; None: the graph's seed.

    Raises:
        TypeError: ``dtype`` is another type.
    """

    def __init__(
        self, images: Any, labels: Any, fake_data: bool = False, one_hot: bool = False, dtype: DTypeLike = float32,
        reshape: bool = True, seed: int | None = None,
    ) -> None:  # fmt: skip
        seed1, seed2 = get_seed(seed)
        np.random.seed(seed1 if seed is None else seed2)
        dtype = as_dtype(dtype).base_dtype
        if dtype not in (uint8, float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        if fake_data:
            self._num_examples = 10000
            self.one_hot = one_hot
        else:
            assert images.shape[0] == labels.shape[0], (
                f"images.shape: {images.shape} labels.shape: {labels.shape}"
            )
            self._num_examples = images.shape[0]
            if reshape:
                images = images.reshape(len(images), int(np.prod(images.shape[1:])))
            if dtype is float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images, self._labels = images, labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        """All images, in the order of the current epoch."""
        return self._images

    @property
    def labels(self) -> Any:
        """The labels of all images."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """Number of examples."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """Number of completed epochs."""
        return self._epochs_completed

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """Return the next batch.

        Args:
            batch_size: number of examples.
            fake_data: whether to return one constant image.
            shuffle: whether every epoch has a new order.

        Returns:
            ``(images, labels)``.
        """
        if fake_data:
            label: Any = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self._num_examples:
            self._index_in_epoch = end = start + batch_size
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        images, labels = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end = batch_size - len(images)
        return np.concatenate([images, self._images[:end]]), np.concatenate([labels, self._labels[:end]])

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


class Datasets(NamedTuple):
    """A data set in three parts."""

    train: Any
    """Training set."""
    validation: Any
    """Validation set."""
    test: Any
    """Test set."""


def _open_file(folder: str, name: str) -> Any:
    """Open a file of the data set, gzipped or not; return None if it does not exist."""
    for path in (os.path.join(folder, name), os.path.join(folder, name.removesuffix(".gz"))):
        if os.path.isfile(path):
            return open(path, "rb")
    return None


def _read(folder: str, name: str, one_hot: bool) -> Any:
    """Read the images or labels from a file of the data set."""
    with _open_file(folder, name) as file:
        print("Extracting", file.name)
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream: Any = gzip.GzipFile(fileobj=file) if is_packed else file
        return _images(stream, file.name) if "images" in name else _labels(stream, file.name, one_hot)


@functools.cache
def _warn_once(message: str) -> None:
    _log.warning(message)


def read_data_sets(
    train_dir: str, fake_data: bool = False, one_hot: bool = False, dtype: DTypeLike = float32, reshape: bool = True,
    validation_size: int = 5000, seed: int | None = None, source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:  # fmt: skip
    """Load MNIST from the files in a folder, or a small synthetic set if they are missing.

    Args:
        train_dir: the folder with ``train-images-idx3-ubyte.gz`` and the other three files, gzipped or not; created if
            missing, where possible.
        fake_data: whether to return one constant image.
        one_hot: whether labels are one-hot rows.
        dtype: ``tf.uint8`` for 0 to 255 or ``tf.float32`` for 0 to 1.
        reshape: whether to flatten images to rows of pixels.
        validation_size: number of training examples set aside for validation.
        seed: seed of the order; None: the graph's seed.
        source_url: ignored: nothing is downloaded.

    Returns:
        ``Datasets``: ``train``, ``validation`` and ``test``, each a ``DataSet``.

    Raises:
        NotFoundError: only some of the files exist.
        ValueError: a file is not an MNIST file, or ``validation_size`` is too large.
    """
    if fake_data:
        fakes = [
            DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in Datasets._fields
        ]
        return Datasets(*fakes)
    with contextlib.suppress(OpError):  # a program that only reads does not need the folder
        makedirs(train_dir)  # as TensorFlow does for its download: programs also write there
    names = TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS
    missing = []
    for name in names:
        file = _open_file(train_dir, name)
        if file is None:
            missing.append(name)
        else:
            file.close()
    if not missing:
        images, labels, test_images, test_labels = (_read(train_dir, name, one_hot) for name in names)
    elif len(missing) < len(names):
        raise NotFoundError.of(
            f"{os.path.join(train_dir, missing[0])}; No such file or directory",
            facts={"missing": ", ".join(missing)},
            hint="put all four files of MNIST into the folder, or none of them",
        )
    else:
        _warn_once(
            f"MNIST was not found in {train_dir!r}, and it is never downloaded. {_DRAWN_TRAIN + _DRAWN_TEST:,}"
            " synthetic digits are used instead, so results differ from those of MNIST. To use MNIST, put"
            " train-images-idx3-ubyte.gz and the other three files into that folder."
        )
        images, labels = digits(_DRAWN_TRAIN, seed=1)
        test_images, test_labels = digits(_DRAWN_TEST, seed=2)
        if one_hot:
            labels, test_labels = dense_to_one_hot(labels, 10), dense_to_one_hot(test_labels, 10)
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    parts = (
        (images[validation_size:], labels[validation_size:]),
        (images[:validation_size], labels[:validation_size]),
        (test_images, test_labels),
    )
    return Datasets(*(DataSet(*part, dtype=dtype, reshape=reshape, seed=seed) for part in parts))


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """Load MNIST with the default settings of ``read_data_sets``.

    Args:
        train_dir: the folder with the files.
    """
    return read_data_sets(train_dir)
