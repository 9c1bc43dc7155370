"""Distinguish graphs from logs by their content.

>>> is_log(b"a: (Neg): /job:localhost/replica:0/task:0/device:CPU:0"), is_log(b'node { name: "a" op: "NoOp" }')
(True, False)
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from gpuplace.errors import DataLossError, InvalidArgumentError
from gpuplace.graphdef.event_file import is_event_file
from gpuplace.graphdef.file_kinds import Kind, empty_text, kind_of
from gpuplace.graphdef.files import GZIP, decompressed, read_message
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.logs.parser import parse_log
from gpuplace.views.logs.text import decoded, strange_share

_GRAPH_ENDINGS = (".pb", ".pbtxt", ".prototxt", ".meta", ".pb.gz", ".pbtxt.gz", ".prototxt.gz", ".meta.gz")
_TEXT_OF_GRAPH = re.compile(
    r"(?:\s|#.*)*(?:node|versions?|library|meta_info_def|graph_def|meta_graphs|saved_model_schema_version)\s*[:{]"
)
"""The beginning of a graph in protobuf's text format."""


def is_log(data: bytes) -> bool:
    """Return whether data that are either a graph or a log are a log: text, but not a graph's text format."""
    text = decoded(data[:65_536])
    return not strange_share(text) and _TEXT_OF_GRAPH.match(text) is None


def log_in_file(path: str | os.PathLike[str]) -> LoggedPlacement | None:
    """Return the log in a file; None if the file is a graph, or for a folder.

    Raises:
        NotFoundError, PermissionDeniedError, FailedPreconditionError: the file cannot be read.
        ResourceExhaustedError: it is too large.
        DataLossError: it is compressed and damaged.
        InvalidArgumentError: it is text without any placement lines, so neither a graph nor a log.
    """
    place = Path(path)
    if place.name.lower().endswith(_GRAPH_ENDINGS) or place.is_dir():
        return None
    data = read_message(place)
    if data.startswith(GZIP):
        data = decompressed(data, str(path), "log")
    file_kind = kind_of(place, data)
    if file_kind is not None:
        raise _other_file(path, file_kind)
    if is_event_file(data):
        return None
    looks_like_log = is_log(data)
    if not looks_like_log and b"/job:" not in data:
        return None
    try:
        log = parse_log(data)
    except DataLossError:
        return None
    if log.rows or log.devices or log.events or log.gpus or log.overridden:
        return log if looks_like_log or len(log.rows) > len(log.unparsed) else None
    if not looks_like_log:
        return None
    raise no_log(path, data)


def no_log(path: str | os.PathLike[str], data: bytes) -> InvalidArgumentError:
    """Return the error for a file without any placement lines.

    Args:
        path: the file's name.
        data: its content, decompressed.

    Returns:
        The error, which states the file's actual kind.
    """
    file_kind = kind_of(path, data)
    if file_kind is not None:
        return _other_file(path, file_kind)
    facts = {"expected lines": "such as 'MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0'"}
    hint = (
        "for a log, run the program with tf.ConfigProto(log_device_placement=True) and save both stdout and stderr: "
        "python train.py > run.log 2>&1; for a graph, pass a .pb, .pbtxt or .meta file, or a SavedModel folder"
    )
    sentence = f"{path} is neither a graph nor a TensorFlow log"
    if (emptiness := empty_text(data)) is not None:
        return InvalidArgumentError.of(f"{sentence}: it {emptiness}", facts=facts, hint=hint)
    text = decoded(data)
    if _TEXT_OF_GRAPH.match(text):
        return InvalidArgumentError.of(
            f"{path} is a graph in text format, not a log",
            hint=f"use gpuplace place {path} or gpuplace explore {path}",
        )
    lines = text.splitlines()
    facts = {
        "size": f"{len(data)} bytes, {len(lines)} lines",
        "begins with": repr(next((line.strip() for line in lines if line.strip()), "")[:80]),
        **facts,
    }
    return InvalidArgumentError.of(sentence, facts=facts, hint=hint)


def _other_file(path: str | os.PathLike[str], other: Kind) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"{path} is {other.what}, neither a graph nor a TensorFlow log", hint=other.advice
    )
