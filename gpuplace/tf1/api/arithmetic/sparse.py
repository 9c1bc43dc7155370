"""``tf.sparse``: sparse tensors.

Source: tensorflow/_api/v1/sparse, release 1.15 (names).
"""

from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.tf1.input.accumulators import SparseConditionalAccumulator
from gpuplace.tf1.sparse.crossing import sparse_cross as cross
from gpuplace.tf1.sparse.crossing import sparse_cross_hashed as cross_hashed
from gpuplace.tf1.sparse.masking import sparse_mask as mask
from gpuplace.tf1.sparse.rearranging import sparse_concat as concat
from gpuplace.tf1.sparse.rearranging import sparse_expand_dims as expand_dims
from gpuplace.tf1.sparse.rearranging import sparse_reorder as reorder
from gpuplace.tf1.sparse.rearranging import sparse_reshape as reshape
from gpuplace.tf1.sparse.rearranging import sparse_slice as slice
from gpuplace.tf1.sparse.rearranging import sparse_split as split
from gpuplace.tf1.sparse.rearranging import sparse_transpose as transpose
from gpuplace.tf1.sparse.reductions import sparse_reduce_max as reduce_max
from gpuplace.tf1.sparse.reductions import sparse_reduce_max_sparse as reduce_max_sparse
from gpuplace.tf1.sparse.reductions import sparse_reduce_sum as reduce_sum
from gpuplace.tf1.sparse.reductions import sparse_reduce_sum_sparse as reduce_sum_sparse
from gpuplace.tf1.sparse.segments import sparse_segment_mean as segment_mean
from gpuplace.tf1.sparse.segments import sparse_segment_sqrt_n as segment_sqrt_n
from gpuplace.tf1.sparse.segments import sparse_segment_sum as segment_sum
from gpuplace.tf1.sparse.sparse_ops import from_dense
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_add as add,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_eye as eye,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_fill_empty_rows as fill_empty_rows,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_maximum as maximum,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_merge as merge,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_minimum as minimum,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_placeholder as placeholder,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_reset_shape as reset_shape,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_retain as retain,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_softmax as softmax,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_tensor_dense_matmul as matmul,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_tensor_dense_matmul as sparse_dense_matmul,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_tensor_to_dense as to_dense,
)
from gpuplace.tf1.sparse.sparse_ops import (
    sparse_to_indicator as to_indicator,
)

__all__ = [
    "SparseConditionalAccumulator", "SparseTensor", "add", "concat", "cross", "cross_hashed", "expand_dims",
    "eye", "fill_empty_rows", "from_dense", "mask", "matmul", "maximum", "merge", "minimum", "placeholder",
    "reduce_max", "reduce_max_sparse", "reduce_sum", "reduce_sum_sparse", "reorder", "reset_shape", "reshape",
    "retain", "segment_mean", "segment_sqrt_n", "segment_sum", "slice", "softmax", "sparse_dense_matmul",
    "split", "to_dense", "to_indicator", "transpose",
]  # fmt: skip
