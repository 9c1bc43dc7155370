"""``tf.python_io``: record files with TensorFlow's names.

Source: tensorflow/python/lib/io/tf_record.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from gpuplace.files.file_system import Path
from gpuplace.files.records import RecordWriter, compressor, read_records

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


class TFRecordCompressionType:
    """Compression of a record file."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """Compression settings of a record file.

    Args:
        compression_type: ``"GZIP"``, ``"ZLIB"``, ``""`` or a ``TFRecordCompressionType``; None: no compression.
        flush_mode: ignored; zlib's flush mode.
        input_buffer_size: ignored; buffer size in bytes.
        output_buffer_size: ignored; buffer size in bytes.
        window_bits: zlib's window size; None: that of the format.
        compression_level: 0 to 9; None: zlib's default.
        compression_method: ignored; there is only one.
        mem_level: 1 to 9; None: 9.
        compression_strategy: number of zlib's strategy; None: its default.

    Raises:
        ValueError: the compression is unknown.
    """

    compression_type_map: ClassVar[dict[Any, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self, compression_type: Any = None, flush_mode: int | None = None, input_buffer_size: int | None = None,
        output_buffer_size: int | None = None, window_bits: int | None = None, compression_level: int | None = None,
        compression_method: int | None = None, mem_level: int | None = None, compression_strategy: int | None = None,
    ) -> None:  # fmt: skip
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return the compression of some options: ``"GZIP"``, ``"ZLIB"`` or ``""``.

        Args:
            options: ``TFRecordOptions``, a ``TFRecordCompressionType``, such a string, or None.

        Raises:
            ValueError: the compression is unknown.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def packer(self) -> Any:
        """Return the compressor; None without compression."""
        level, memory, strategy = self.compression_level, self.mem_level, self.compression_strategy
        return compressor(
            self.get_compression_type_string(self),
            -1 if level is None else level,
            9 if memory is None else memory,
            strategy or 0,
            self.window_bits,
        )


class TFRecordWriter(RecordWriter):
    """Writes records to a new file.

    Args:
        path: path of the file.
        options: ``TFRecordOptions`` or a compression; None: no compression.

    Raises:
        ValueError: the compression is unknown.
        OpError: the file cannot be created.
    """

    def __init__(self, path: Path, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        super().__init__(path, options.packer())

    def write(self, record: bytes) -> None:
        """Append a record.

        Args:
            record: content of the record.

        Raises:
            TypeError: the record is not bytes.
            FailedPreconditionError: the file is closed.
            OpError: writing fails.
        """
        if not isinstance(record, bytes | bytearray | memoryview):
            raise TypeError(f"expected bytes, {type(record).__name__} found")
        super().write(bytes(record))


def tf_record_iterator(path: Path, options: Any = None) -> Iterator[bytes]:
    """Iterate over the records of a file.

    Args:
        path: path of the file.
        options: ``TFRecordOptions`` or a compression; None: no compression.

    Returns:
        An iterator of bytes.

    Raises:
        ValueError: the compression is unknown.
        NotFoundError: the file does not exist.
        DataLossError: the file is corrupt.
    """
    return read_records(path, TFRecordOptions.get_compression_type_string(options))
