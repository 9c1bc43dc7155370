"""Modules of ``tensorflow.python.ops`` that have names of their own, beside those of gpuplace."""
