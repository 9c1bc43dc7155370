"""``tf.summary``: summaries of tensors, and event files for TensorBoard.

The classes that write files are loaded when first used.

Source: tensorflow/_api/v1/summary, release 1.15 (names).
"""

from typing import TYPE_CHECKING, Any

from gpuplace.ops.summaries import (
    audio,
    get_summary_description,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]

if TYPE_CHECKING:
    from gpuplace.graphdef.file_writer import FileWriter, FileWriterCache
    from gpuplace.graphdef.messages import Event, SessionLog, Summary, SummaryDescription, TaggedRunMetadata
else:

    def __getattr__(name: str) -> Any:
        if name in ("Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata"):
            from gpuplace.graphdef import messages

            return getattr(messages, name)
        if name in ("FileWriter", "FileWriterCache"):
            from gpuplace.graphdef import file_writer

            return getattr(file_writer, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
