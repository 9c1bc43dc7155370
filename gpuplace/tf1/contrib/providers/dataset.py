"""A data set's description: where it lies, and what reads and decodes it.

Source: tensorflow/contrib/slim/python/slim/data/dataset.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset"]


class Dataset:
    """What a ``DatasetDataProvider`` needs to know of a data set.

    >>> flowers = Dataset("flowers-*.tfrecord", None, None, 3670, {"image": "a photograph"}, num_classes=5)
    >>> flowers.num_samples, flowers.num_classes
    (3670, 5)

    Args:
        data_sources: paths or patterns of files, one or a list.
        reader: the class of reader for them, such as ``tf.TFRecordReader``.
        decoder: a ``DataDecoder``, which turns what is read into items.
        num_samples: how many examples there are.
        items_to_descriptions: item to a sentence about it.
        **kwargs: further attributes of the data set.
    """

    data_sources: Any
    reader: Any
    decoder: Any
    num_samples: int
    items_to_descriptions: dict[str, str]

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int,
        items_to_descriptions: dict[str, str],
        **kwargs: Any,
    ) -> None:
        known = {
            "data_sources": data_sources,
            "reader": reader,
            "decoder": decoder,
            "num_samples": num_samples,
        }
        vars(self).update(kwargs, **known, items_to_descriptions=items_to_descriptions)
