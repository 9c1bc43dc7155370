"""``tf.contrib``: what programs use of it most.

Source: tensorflow/contrib, release 1.15 (names).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.api.contrib import framework, layers, rnn, seq2seq, slim

__all__ = ["framework", "layers", "rnn", "seq2seq", "slim"]

_missing.advise("contrib", _sys.modules[__name__])
for _module in (framework, layers, rnn, seq2seq, slim):
    _missing.advise(f"contrib.{_module.__name__.rpartition('.')[2]}", _module)
