"""Datasets of file contents: text lines, TFRecords, fixed-length records.

Source: tensorflow/python/data/ops/readers.py, release 1.15 (operations, names, defaults).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import string
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.ops.variants import init_defaults
from gpuplace.tf1.data.dataset import AUTOTUNE, Dataset, build, inner_spec, int64_tensor, parts_of, unary
from gpuplace.tf1.data.tracing import trace
from gpuplace.typing import TensorLike

__all__ = ["FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]

_BUFFER_BYTES = 256 * 1024


def _text(value: TensorLike | None, name: str) -> Tensor:
    return convert_to_tensor("" if value is None else value, string, name=name)


def _number(value: TensorLike | None, name: str, default: int = 0) -> Tensor:
    return int64_tensor(default if value is None else value, name)


def _names_of_files(filenames: Any) -> Dataset:
    if isinstance(filenames, Dataset):
        if filenames.output_types is not string:
            raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
        if not filenames.output_shapes.is_compatible_with([]):
            raise TypeError("`filenames` must be a `tf.data.Dataset` of scalar `tf.string` elements.")
        return filenames
    names = convert_to_tensor(filenames, string)
    return Dataset.from_tensor_slices_of(reshape(names, [-1], name="flat_filenames"))


class _FilesDataset(Dataset):
    """The contents of files, one after the other or interleaved."""

    def __init__(self, filenames: Any, one_file: Callable[[Tensor], Dataset], parallel_reads: Any) -> None:
        names = _names_of_files(filenames)

        def read_one_file(filename: TensorLike) -> Dataset:
            return one_file(convert_to_tensor(filename, string, name="filename"))

        if parallel_reads is None:
            read = names.flat_map(read_one_file)
        elif parallel_reads == AUTOTUNE:
            read = names.interleave(read_one_file, num_parallel_calls=parallel_reads)
        else:
            read = parallel_interleaved(names, read_one_file, parallel_reads)
        super().__init__(*parts_of(read))


class _CompressedFilesDataset(_FilesDataset):
    """A files dataset with no parameter but the compression."""

    _op_type = ""

    def __init__(
        self,
        filenames: Any,
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: int | None = None,
    ) -> None:
        def one_file(filename: Tensor) -> Dataset:
            return build(
                self._op_type,
                TensorSpec([], string),
                has_types=False,
                has_shapes=False,
                filenames=filename,
                compression_type=_text(compression_type, "compression_type"),
                buffer_size=_number(buffer_size, "buffer_size", _BUFFER_BYTES),
            )

        super().__init__(filenames, one_file, num_parallel_reads)


@init_defaults()
class TextLineDataset(_CompressedFilesDataset):
    """The lines of text files, strings without line endings.

    Args:
        filenames: file names: a string tensor, or a dataset of strings.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``; None: ``""``.
        buffer_size: bytes that TensorFlow would read at a time; None: 262144.
        num_parallel_reads: number of files to interleave; None: one after the other.
    """

    _op_type = "TextLineDataset"


@init_defaults()
class TFRecordDataset(_CompressedFilesDataset):
    """The records of TFRecord files, strings.

    Args:
        filenames: file names: a string tensor, or a dataset of strings.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``; None: ``""``.
        buffer_size: bytes that TensorFlow would read at a time; None: 262144.
        num_parallel_reads: number of files to interleave; None: one after the other.
    """

    _op_type = "TFRecordDataset"


class FixedLengthRecordDataset(_FilesDataset):
    """The fixed-length records of files, strings.

    Args:
        filenames: file names: a string tensor, or a dataset of strings.
        record_bytes: size of a record in bytes.
        header_bytes: number of bytes before the first record; None: 0.
        footer_bytes: number of bytes after the last record; None: 0.
        buffer_size: bytes that TensorFlow would read at a time; None: 262144.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``; None: ``""``.
        num_parallel_reads: number of files to interleave; None: one after the other.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: TensorLike,
        header_bytes: TensorLike | None = None,
        footer_bytes: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        compression_type: TensorLike | None = None,
        num_parallel_reads: int | None = None,
    ) -> None:
        def one_file(filename: Tensor) -> Dataset:
            return build(
                "FixedLengthRecordDatasetV2",
                TensorSpec([], string),
                has_types=False,
                has_shapes=False,
                filenames=filename,
                record_bytes=int64_tensor(record_bytes, "record_bytes"),
                header_bytes=_number(header_bytes, "header_bytes"),
                footer_bytes=_number(footer_bytes, "footer_bytes"),
                buffer_size=_number(buffer_size, "buffer_size", _BUFFER_BYTES),
                compression_type=_text(compression_type, "compression_type"),
            )

        super().__init__(filenames, one_file, num_parallel_reads)


def parallel_interleaved(
    dataset: Dataset,
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: Any = False,
    buffer_output_elements: TensorLike | None = None,
    prefetch_input_elements: TensorLike | None = None,
) -> Dataset:
    """Interleave the elements of the datasets that a function returns, with the rules of ``parallel_interleave``.

    Args:
        dataset: the input dataset.
        map_func: takes an element and returns a dataset.
        cycle_length: number of datasets to interleave.
        block_length: number of consecutive elements from each dataset.
        sloppy: whether TensorFlow may change the order; here it is always deterministic.
        buffer_output_elements: number of elements that TensorFlow would prefetch; None: two blocks.
        prefetch_input_elements: number of datasets that it would prefetch; None: two cycles.
    """
    function = trace(map_func, "tf.data.experimental.parallel_interleave()", dataset.element_spec)
    return unary(
        dataset,
        "ParallelInterleaveDataset",
        inner_spec(function),
        (function,),
        other_arguments=list(function.captured),
        cycle_length=int64_tensor(cycle_length, "cycle_length"),
        block_length=int64_tensor(block_length, "block_length"),
        sloppy=convert_to_tensor(sloppy, "bool", name="sloppy"),
        buffer_output_elements=_number(buffer_output_elements, "buffer_output_elements", 2 * block_length),
        prefetch_input_elements=_number(prefetch_input_elements, "prefetch_input_elements", 2 * cycle_length),
        f=function.ref,
    )
