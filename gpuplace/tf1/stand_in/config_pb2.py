"""``tensorflow.core.protobuf.config_pb2``, with a message that later releases define in another file.

Source: tensorflow/core/protobuf/config.proto, release 1.15 (``RPCOptions``).
"""

from __future__ import annotations

import importlib
from typing import Any

_ELSEWHERE = {"RPCOptions": "rpc_options_pb2"}


def __getattr__(name: str) -> Any:
    module = _ELSEWHERE.get(name, "config_pb2")
    return getattr(importlib.import_module(f"tensorboard.compat.proto.{module}"), name)
