"""The forms in which a damaged graph reaches the package: a message, bytes, or files of every kind it reads."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Any

from gpuplace.graphdef.messages import (
    DecodeError,
    EncodeError,
    GraphDef,
    MetaGraphDef,
    SavedModel,
    text_format,
)
from tests.fuzz.mutations import damaged_bytes

FILES = (
    "graph.pb",
    "graph.pb.gz",
    "graph.pbtxt",
    "graph.pbtxt.gz",
    "graph.meta",
    "saved_model.pb",
    "saved_model.pbtxt",
)
_MAX_TEXT = 8000
"""Bytes; larger graphs are not written as text, which takes protobuf's parser long to read."""
_BOMB = 300 << 20


def formed(graph: bytes | Any, random: Random, folder: Path) -> bytes | Any | Path:
    """The graph as it is, or in one case of ten a file in `folder` that holds it, perhaps damaged once more."""
    if random.random() < 0.9:
        return graph
    name = random.choice(FILES)
    path = folder / name
    try:
        content = _content(graph, name)
    except (DecodeError, EncodeError, RecursionError):
        content = graph if isinstance(graph, bytes) else b"\xff"
    if random.random() < 0.4:
        content = damaged_bytes(content, (content or b"\0",), random)
    if name.endswith(".gz"):
        content = gzip.compress(content, 1)
        if random.random() < 0.3:
            content = damaged_bytes(content, (content,), random)
        elif random.random() < 0.005:
            content = gzip.compress(b"\x0a\x00" * (_BOMB // 2), 1)
    path.write_bytes(content)
    return folder if name.startswith("saved_model") and random.random() < 0.5 else path


def _content(graph: bytes | Any, name: str) -> bytes:
    if isinstance(graph, bytes) and "graph.pb" in name and "txt" not in name:
        return graph
    message: Any = GraphDef.FromString(graph) if isinstance(graph, bytes) else graph
    if "meta" in name:
        message = MetaGraphDef(graph_def=message)
    elif "saved_model" in name:
        message = SavedModel(meta_graphs=[MetaGraphDef(graph_def=message)])
    if "txt" not in name:
        return bytes(message.SerializeToString(deterministic=True))
    if message.ByteSize() > _MAX_TEXT:
        return b"node { name: 'a' op: 'NoOp' }"
    return text_format.MessageToString(message).encode(errors="surrogateescape")
