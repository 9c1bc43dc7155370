"""``tf.contrib``: what programs use of it most.

Source: tensorflow/contrib, release 1.15 (names).
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from gpuplace.api import missing as _missing
from gpuplace.api.contrib import framework, layers, lookup, rnn, seq2seq, slim, staging

if TYPE_CHECKING:
    from gpuplace.api.contrib import learn, tensorboard

__all__ = ["framework", "layers", "learn", "lookup", "rnn", "seq2seq", "slim", "staging", "tensorboard"]


def __getattr__(name: str) -> Any:
    if name in ("learn", "tensorboard"):  # data sets and messages are loaded when they are first asked for
        module = _import_module(f"gpuplace.api.contrib.{name}")
        _missing.advise(f"contrib.{name}", module)
        return module
    raise AttributeError(name)


_missing.advise("contrib", _sys.modules[__name__])
for _module in (framework, layers, lookup, rnn, seq2seq, slim, staging):
    _missing.advise(f"contrib.{_module.__name__.rpartition('.')[2]}", _module)
