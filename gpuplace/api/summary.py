"""``tf.summary``: event files for TensorBoard, loaded when first used.

Source: tensorflow/_api/v1/summary, release 1.15 (names).
"""

from typing import TYPE_CHECKING, Any

__all__ = ["Event", "FileWriter", "Summary"]

if TYPE_CHECKING:
    from gpuplace.graphdef.file_writer import FileWriter
    from gpuplace.graphdef.messages import Event, Summary
else:

    def __getattr__(name: str) -> Any:
        if name in ("Event", "Summary"):
            from gpuplace.graphdef import messages

            return getattr(messages, name)
        if name == "FileWriter":
            from gpuplace.graphdef.file_writer import FileWriter

            return FileWriter
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
