"""``tf.io``: files and what is in them.

Source: tensorflow/_api/v1/io, release 1.15 (names).
"""

from gpuplace.api import io_gfile as gfile
from gpuplace.api.graph_io import write_graph
from gpuplace.files.tfrecord import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from gpuplace.ops.input.file_ops import match_filenames_once, matching_files, read_file, write_file
from gpuplace.ops.input.queues import PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from gpuplace.ops.text.regex_and_encoding import decode_base64, decode_raw, encode_base64

__all__ = [
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "decode_base64",
    "decode_raw",
    "encode_base64",
    "gfile",
    "match_filenames_once",
    "matching_files",
    "read_file",
    "tf_record_iterator",
    "write_file",
    "write_graph",
]
