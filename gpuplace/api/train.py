"""``tf.train``: optimizers, steps, and graphs written to files."""

from gpuplace.ops.train import *
from gpuplace.views import write_graph
