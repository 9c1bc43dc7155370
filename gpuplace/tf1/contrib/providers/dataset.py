"""The description of a data set: its files, reader and decoder.

Source: tensorflow/contrib/slim/python/slim/data/dataset.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset"]


class Dataset:
    """Description of a data set for a ``DatasetDataProvider``.

    >>> flowers = Dataset("flowers-*.tfrecord", None, None, 3670, {"image": "a photograph"}, num_classes=5)
    >>> flowers.num_samples, flowers.num_classes
    (3670, 5)

    Args:
        data_sources: one or more paths or glob patterns.
        reader: the reader class, such as ``tf.TFRecordReader``.
        decoder: a ``DataDecoder``, which decodes records to items.
        num_samples: number of examples.
        items_to_descriptions: item -> description.
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
