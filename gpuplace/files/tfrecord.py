"""``tf.python_io``: files of records, by TensorFlow's names.

Source: tensorflow/python/lib/io/tf_record.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from gpuplace.files.file_system import Path
from gpuplace.files.records import RecordWriter, compressor, read_records

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


class TFRecordCompressionType:
    """How a file of records is compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """How a file of records is compressed, and how hard.

    Args:
        compression_type: ``"GZIP"``, ``"ZLIB"``, ``""`` or a ``TFRecordCompressionType``; None: not at all.
        flush_mode: ignored; zlib's flush mode.
        input_buffer_size: ignored; bytes of a buffer.
        output_buffer_size: ignored; bytes of a buffer.
        window_bits: zlib's size of the window; None: that of the format.
        compression_level: 0 to 9; None: as zlib finds right.
        compression_method: ignored; there is one.
        mem_level: 1 to 9; None: 9.
        compression_strategy: zlib's number of a strategy; None: its default.

    Raises:
        ValueError: there is no such compression.
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
        """Returns how something says that a file is compressed: ``"GZIP"``, ``"ZLIB"`` or ``""``.

        Args:
            options: ``TFRecordOptions``, a ``TFRecordCompressionType``, such a string, or None.

        Raises:
            ValueError: there is no such compression.
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
        """What compresses so; None where nothing does."""
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
        path: of the file.
        options: ``TFRecordOptions``, or a compression alone; None: it is not compressed.

    Raises:
        ValueError: there is no such compression.
        OpError: the file cannot be made.
    """

    def __init__(self, path: Path, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        super().__init__(path, options.packer())

    def write(self, record: bytes) -> None:
        """Adds a record.

        Args:
            record: its bytes.

        Raises:
            TypeError: this is something else.
            FailedPreconditionError: the file is closed.
            OpError: it cannot be written.
        """
        if not isinstance(record, bytes | bytearray | memoryview):
            raise TypeError(f"expected bytes, {type(record).__name__} found")
        super().write(bytes(record))


def tf_record_iterator(path: Path, options: Any = None) -> Iterator[bytes]:
    """Returns an iterator of the records of a file.

    Args:
        path: of the file.
        options: ``TFRecordOptions``, or a compression alone; None: it is not compressed.

    Returns:
        An iterator of bytes.

    Raises:
        ValueError: there is no such compression.
        NotFoundError: there is no such file.
        DataLossError: it is damaged.
    """
    return read_records(path, TFRecordOptions.get_compression_type_string(options))
