"""``tf.contrib``: its most used parts.

Source: tensorflow/contrib, release 1.15 (names).
"""

import sys as _sys
from typing import TYPE_CHECKING

from gpuplace.api import missing as _missing
from gpuplace.lazy import lazy_names as _lazy_names
from gpuplace.tf1.api.contrib import framework, layers, lookup, rnn, seq2seq, slim, staging

__all__ = [
    "data", "distributions", "framework", "layers", "learn", "legacy_seq2seq", "lookup", "losses", "memory_stats",
    "metrics", "nccl", "rnn", "seq2seq", "slim", "staging", "tensorboard", "testing", "training",
]  # fmt: skip

if TYPE_CHECKING:
    from gpuplace.tf1.api.contrib import (
        data,
        distributions,
        learn,
        legacy_seq2seq,
        memory_stats,
        metrics,
        nccl,
        tensorboard,
        testing,
        training,
    )
    from gpuplace.tf1.contrib import losses
else:  # loaded on first use
    __getattr__ = _lazy_names(
        __name__,
        {
            "gpuplace.tf1.api.contrib": """
                data distributions learn legacy_seq2seq memory_stats metrics nccl tensorboard testing training
            """,
            "gpuplace.tf1.contrib": "losses",
        },
    )


_missing.advise("contrib", _sys.modules[__name__])
for _module in (framework, layers, lookup, rnn, slim, staging):
    _missing.advise(f"contrib.{_module.__name__.rpartition('.')[2]}", _module)
