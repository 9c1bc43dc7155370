"""``tf.contrib``: what programs use of it most.

Source: tensorflow/contrib, release 1.15 (names).
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from gpuplace.api import missing as _missing
from gpuplace.api.contrib import framework, layers, lookup, rnn, seq2seq, slim, staging

if TYPE_CHECKING:
    from gpuplace.api.contrib import learn

__all__ = ["framework", "layers", "learn", "lookup", "rnn", "seq2seq", "slim", "staging"]


def __getattr__(name: str) -> Any:
    if name == "learn":  # its data sets are loaded when they are first asked for
        return _import_module("gpuplace.api.contrib.learn")
    raise AttributeError(name)


_missing.advise("contrib", _sys.modules[__name__])
for _module in (framework, layers, lookup, rnn, seq2seq, slim, staging):
    _missing.advise(f"contrib.{_module.__name__.rpartition('.')[2]}", _module)
