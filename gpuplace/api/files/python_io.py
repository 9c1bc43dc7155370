"""``tf.python_io``: files of records.

Source: tensorflow/_api/v1/python_io, release 1.15 (names).
"""

from gpuplace.files.tfrecord import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]
