"""``tf.math``: arithmetic, comparisons and reductions."""

from gpuplace.ops.comparison import *
from gpuplace.ops.elementwise import *
from gpuplace.ops.matrix import *
from gpuplace.ops.reduction import *
from gpuplace.ops.unary import *
