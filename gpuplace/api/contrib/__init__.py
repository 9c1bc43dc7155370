"""``tf.contrib``: what programs use of it most.

Source: tensorflow/contrib, release 1.15 (names).
"""

from typing import Any

from gpuplace.api import missing as _missing
from gpuplace.api.contrib import framework, layers, rnn, seq2seq, slim
from gpuplace.callers import OwnFramesHidden as _OwnFramesHidden

__all__ = ["framework", "layers", "rnn", "seq2seq", "slim"]


def __getattr__(name: str) -> Any:
    with _OwnFramesHidden(AttributeError):
        raise _missing.error("contrib", name, __all__)
