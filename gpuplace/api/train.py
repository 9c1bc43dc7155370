"""``tf.train``: optimizers, steps, and graphs written to files.

Source: tensorflow/_api/v1/train, release 1.15 (names).
"""

from gpuplace.ops.train import *
from gpuplace.views import write_graph
