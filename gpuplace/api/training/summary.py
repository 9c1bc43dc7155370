"""``tf.summary``: summaries of tensors, and event files for TensorBoard.

The classes that write files are loaded when first used.

Source: tensorflow/_api/v1/summary, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names
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
    __getattr__ = lazy_names(
        __name__,
        {
            "gpuplace.graphdef.file_writer": "FileWriter FileWriterCache",
            "gpuplace.graphdef.messages": "Event SessionLog Summary SummaryDescription TaggedRunMetadata",
        },
    )
