"""Decode serialized examples to items: each handler computes one item from some features of the example.

    example  ->  parse_single_example  ->  features by key  ->  handler  ->  item

Source: tensorflow/contrib/slim/python/slim/data/tfexample_decoder.py, release 1.15.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import int64, uint8
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.reshaping import expand_dims, reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.flow.case import case
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.higher_order import map_fn
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, logical_or
from gpuplace.ops.math.reduction import reduce_prod
from gpuplace.ops.sparse import sparse_tensor as sparse
from gpuplace.tf1.contrib.providers.data_decoder import DataDecoder
from gpuplace.tf1.image.codecs import decode_jpeg
from gpuplace.tf1.image.measures import decode_image, is_jpeg
from gpuplace.tf1.input.parsing import FixedLenFeature, parse_single_example
from gpuplace.tf1.sparse import rearranging, sparse_ops
from gpuplace.tf1.text.regex_and_encoding import decode_raw
from gpuplace.typing import DTypeLike

__all__ = [
    "BackupHandler", "BoundingBox", "Image", "ItemHandler", "ItemHandlerCallback", "LookupTensor", "SparseTensor",
    "TFExampleDecoder", "Tensor",
]  # fmt: skip


class ItemHandler(ABC):
    """Base class of handlers: compute an item from the features with some keys.

    Args:
        keys: a feature key, or a list of them.
    """

    def __init__(self, keys: str | Sequence[str]) -> None:
        self._keys = [keys] if isinstance(keys, str) else list(keys)

    @property
    def keys(self) -> list[Any]:
        """Keys of the item's features."""
        return self._keys

    @abstractmethod
    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the item.

        Args:
            keys_to_tensors: key -> tensor or sparse tensor.
        """


class ItemHandlerCallback(ItemHandler):
    """A handler that calls a function.

    Args:
        keys: keys of the features.
        func: takes a dict of features, returns the item.
    """

    def __init__(self, keys: str | Sequence[str], func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the result of the function.

        Args:
            keys_to_tensors: key -> tensor.
        """
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """A handler for boxes, ``[boxes, 4]``, from four features.

    Args:
        keys: keys of the upper, left, lower, and right edges; None: ymin, xmin, ymax, xmax.
        prefix: prefix of the keys.

    Raises:
        ValueError: there are not four keys.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        names = ["ymin", "xmin", "ymax", "xmax"] if keys is None else list(keys)
        if len(names) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(names)}")
        super().__init__([prefix + name for name in names])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the boxes.

        Args:
            keys_to_tensors: key -> vector.
        """
        edges = []
        for key in self._keys:
            edge = keys_to_tensors[key]
            edges.append(expand_dims(edge.values if isinstance(edge, sparse.SparseTensor) else edge, 0))
        return transpose(concat(edges, 0))


class Tensor(ItemHandler):
    """A handler for dense tensors, reshaped if the shape is given or part of the example.

    Args:
        tensor_key: key of the feature.
        shape_keys: keys of the features with its sizes.
        shape: its shape.
        default_value: value of elements missing from a sparse feature.

    Raises:
        ValueError: both ``shape_keys`` and ``shape`` are given.
    """

    def __init__(
        self,
        tensor_key: str,
        shape_keys: str | Sequence[str] | None = None,
        shape: Any = None,
        default_value: Any = 0,
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        sizes = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or ())
        super().__init__([tensor_key, *sizes])
        self._shape = shape
        self._default_value = default_value

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the tensor.

        Args:
            keys_to_tensors: key -> tensor or sparse tensor.
        """
        tensor, *sizes = (keys_to_tensors[key] for key in self._keys)
        shape = self._shape
        if sizes:
            dense = [
                sparse_ops.sparse_tensor_to_dense(size) if isinstance(size, sparse.SparseTensor) else size
                for size in sizes
            ]
            shape = reshape(stack(dense), [-1])
        if isinstance(tensor, sparse.SparseTensor):
            if shape is not None:
                tensor = rearranging.sparse_reshape(tensor, shape)
            return sparse_ops.sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if shape is None else reshape(tensor, shape)


class LookupTensor(Tensor):
    """A handler for tensors whose elements are looked up in a table.

    Args:
        tensor_key: key of the feature.
        table: a lookup table.
        shape_keys: keys of the features with its sizes.
        shape: its shape.
        default_value: value of elements missing from a sparse feature.
    """

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: str | Sequence[str] | None = None,
        shape: Any = None,
        default_value: Any = "",
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the table's values of the tensor's elements.

        Args:
            keys_to_tensors: key -> tensor or sparse tensor.
        """
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """A handler with a fallback: if an item is empty, another handler computes it.

    Args:
        handler: the handler.
        backup: the fallback.

    Raises:
        ValueError: one of them is not an ``ItemHandler``.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for what, item_handler in (("Primary", handler), ("Backup", backup)):
            if not isinstance(item_handler, ItemHandler):
                raise ValueError(f"{what} handler is of type {type(item_handler)} instead of ItemHandler")
        self._handler = handler
        self._backup = backup
        super().__init__(handler.keys + backup.keys)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the item.

        Args:
            keys_to_tensors: key -> tensor or sparse tensor.
        """
        item = self._handler.tensors_to_item(keys_to_tensors)
        is_empty = equal(reduce_prod(shape_of(item)), 0)
        return cond(is_empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A handler for sparse tensors, from a feature with the indices of the last axis and one with the values.

    Args:
        indices_key: the feature of indices; None: ``indices``.
        values_key: the feature of values; None: ``values``.
        shape_key: the feature with its shape.
        shape: its shape; None, and no ``shape_key``: that of the indices' feature.
        densify: whether to return a dense tensor.
        default_value: value of missing elements in a dense tensor.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key = indices_key or "indices"
        self._values_key = values_key or "values"
        self._shape_key = shape_key
        self._shape = shape
        self._densify = densify
        self._default_value = default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the tensor, sparse or dense.

        Args:
            keys_to_tensors: key -> sparse tensor.
        """
        indices = keys_to_tensors[self._indices_key]
        values = keys_to_tensors[self._values_key]
        if self._shape_key:
            shape = keys_to_tensors[self._shape_key]
            if isinstance(shape, sparse.SparseTensor):
                shape = sparse_ops.sparse_tensor_to_dense(shape)
        else:
            shape = self._shape or indices.dense_shape
        rank = shape_of(indices.indices)[1]
        ids = cast(indices.values, int64)
        leading = slice_of(indices.indices, [0, 0], stack([-1, rank - 1]))
        positions = concat([leading, reshape(ids, [-1, 1])], 1)
        tensor = sparse.SparseTensor(positions, values.values, shape)
        return sparse_ops.sparse_tensor_to_dense(tensor, self._default_value) if self._densify else tensor


class Image(ItemHandler):
    """A handler for images, ``[height, width, channels]``, which decodes them.

    Args:
        image_key: key of the encoded bytes; None: ``image/encoded``.
        format_key: key of the format name; None: ``image/format``. ``raw`` is decoded as raw bytes; all other formats
            are detected from the bytes themselves.
        shape: its shape.
        channels: number of channels.
        dtype: element type.
        repeated: whether the feature has several images.
        dct_method: the method for decoding JPEG.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: DTypeLike = uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        self._shape = shape
        self._channels = channels
        self._dtype = dtype
        self._repeated = repeated
        self._dct_method = dct_method

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the image or images.

        Args:
            keys_to_tensors: key -> scalar string.
        """
        data, kind = (keys_to_tensors[key] for key in self._keys)
        if self._repeated:
            return map_fn(lambda encoded: self._decode(encoded, kind), data, dtype=self._dtype)
        return self._decode(data, kind)

    def _decode(self, data: Any, kind: Any) -> Any:
        def encoded() -> Any:
            return cond(is_jpeg(data), jpeg, other, name="cond_jpeg")

        def jpeg() -> Any:
            return cast(decode_jpeg(data, channels=self._channels, dct_method=self._dct_method), self._dtype)

        def other() -> Any:
            return cast(decode_image(data, channels=self._channels), self._dtype)

        def raw() -> Any:
            return decode_raw(data, out_type=self._dtype)

        is_raw = logical_or(equal(kind, "raw"), equal(kind, "RAW"))
        image = case([(is_raw, raw)], default=encoded, exclusive=True)
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else reshape(image, self._shape)


class TFExampleDecoder(DataDecoder):
    """Decoder of serialized ``tf.train.Example`` messages.

    Args:
        keys_to_features: key -> feature, as for ``tf.parse_single_example``.
        items_to_handlers: item -> handler.
    """

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        """Return the names of all items."""
        return list(self._items_to_handlers)

    def decode(self, data: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Return the tensors of some items.

        Args:
            data: a serialized example, a scalar string.
            items: their names; None: all.
        """
        example = parse_single_example(data, self._keys_to_features)
        for key, feature in sorted(self._keys_to_features.items()):
            if isinstance(feature, FixedLenFeature):
                example[key] = reshape(example[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [handler.tensors_to_item({key: example[key] for key in handler.keys}) for handler in handlers]
