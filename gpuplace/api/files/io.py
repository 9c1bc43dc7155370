"""``tf.io``: files and their contents.

Source: tensorflow/_api/v1/io, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.api.files import io_gfile as gfile
from gpuplace.api.files.graph_io import write_graph
from gpuplace.files.tfrecord import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.ops.sparse.sparse_spec import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)

if TYPE_CHECKING:
    from gpuplace.tf1.image.codecs import (
        decode_and_crop_jpeg,
        decode_bmp,
        decode_gif,
        decode_jpeg,
        decode_png,
        encode_jpeg,
        extract_jpeg_shape,
    )
    from gpuplace.tf1.image.measures import decode_image, is_jpeg
    from gpuplace.tf1.input.csv import decode_csv
    from gpuplace.tf1.input.file_ops import match_filenames_once, matching_files, read_file, write_file
    from gpuplace.tf1.input.parsing import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        SparseFeature,
        VarLenFeature,
        decode_json_example,
        parse_example,
        parse_sequence_example,
        parse_single_example,
        parse_single_sequence_example,
        parse_tensor,
        serialize_tensor,
    )
    from gpuplace.tf1.input.queues import PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
    from gpuplace.tf1.text.raw_bytes import decode_compressed
    from gpuplace.tf1.text.regex_and_encoding import decode_base64, decode_raw, encode_base64
else:  # imported on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.image.codecs": """
                decode_and_crop_jpeg decode_bmp decode_gif decode_jpeg decode_png encode_jpeg
                extract_jpeg_shape
            """,
            "gpuplace.tf1.image.measures": "decode_image is_jpeg",
            "gpuplace.tf1.input.csv": "decode_csv",
            "gpuplace.tf1.input.file_ops": "match_filenames_once matching_files read_file write_file",
            "gpuplace.tf1.input.parsing": """
                FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_json_example
                parse_example parse_sequence_example parse_single_example parse_single_sequence_example
                parse_tensor serialize_tensor
            """,
            "gpuplace.tf1.input.queues": "PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
            "gpuplace.tf1.text.raw_bytes": "decode_compressed",
            "gpuplace.tf1.text.regex_and_encoding": "decode_base64 decode_raw encode_base64",
        },
    )

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "match_filenames_once",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
    "write_graph",
]
