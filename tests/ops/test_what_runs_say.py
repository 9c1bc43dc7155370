"""What ops say when they run on values that do not fit, where the graph knew nothing of their shapes."""

from typing import Any

import pytest

import gpuplace as tf
from gpuplace.ops.support import new, new_list


def fed(value: Any, dtype: Any = tf.int32) -> tuple[Any, Any]:
    return dtype, value


def offsets(*shapes: Any) -> Any:
    return lambda dim, *rest: new_list("ConcatOffset", concat_dim=dim, shape=list(rest)), [
        fed(1),
        *map(fed, shapes),
    ]


def segments(name: str, *values: Any, **attrs: Any) -> Any:
    names = ("data", "segment_ids") if len(values) == 2 else ("data", "indices", "segment_ids")
    if "Grad" in name:
        names = ("grad", "indices", "segment_ids", "output_dim0")
    given = [fed(values[0], tf.float32), *map(fed, values[1:])]
    return lambda *tensors: new(name, **dict(zip(names, tensors, strict=True)), **attrs), given


SPARSE = "SparseSoftmaxCrossEntropyWithLogits"
ROWS = [[1.0], [2.0], [3.0]]
CASES = [
    (offsets([[2]], [[2]]), "input 0 should be a vector, but got shape [1,1]"),
    (offsets([2, 3, 5], [2, 7, 5, 10]), "input 1 should contain 3 elements, but got 4"),
    (
        offsets([2, 3, 5], [2, 7, 10]),
        "All dimensions except 1 must match. Input 1 has shape [2 7 10] and doesn't match input 0 with shape [2 3 5].",
    ),
    (segments("SegmentSum", ROWS, [1, 0, 1]), "segment ids are not increasing"),
    (
        segments("SegmentSum", ROWS, [-1, 0, 1]),
        "Segment id -1 out of range [0, 2), possibly because 'segment_ids'",
    ),
    (segments("SegmentSum", ROWS, [0, 1, 0]), "segment ids are not increasing"),
    (segments("SegmentMax", ROWS, [0, 1, -2]), "segment ids must be >= 0"),
    (segments("SparseSegmentMean", ROWS, [0, 1, 2], [0, 2, 1]), "segment ids are not increasing"),
    (segments("SparseSegmentSum", ROWS, [0, 3, 2], [0, 1, 2]), "Bad: indices[1] == 3 out of range [0, 3)"),
    (segments("SparseSegmentMeanGrad", ROWS, [0, 1], [0, 3], 4), "Invalid number of segments"),
    (segments("SparseSegmentMeanGrad", ROWS, [0, 4], [0, 1], 4), "Index 4 out of range [0, 4)."),
    (segments("SparseSegmentSqrtNGrad", ROWS, [0, 1], [-1, 1], 4), "Segment id -1 out of range [0, 3)."),
    (
        (lambda x, ids: tf.dynamic_partition(x, ids, 7)[0], [fed([[1, 2]]), fed([[0, 17]])]),
        "partitions[0,1] = 17 is not in [0, 7)",
    ),
    ((lambda x, i: tf.dynamic_partition(x, i, 7)[0], [fed(1), fed(17)]), "partitions = 17 is not in [0, 7)"),
    ((lambda k: tf.nn.top_k([1.0, 2.0], k)[0], [fed(-1)]), "Need k >= 0, got -1"),
    ((lambda x: tf.as_string(x, scientific=True), [fed(1)]), "scientific and shortest format not supported"),
    ((lambda x: tf.as_string(x, precision=1), [fed(1)]), "precision not supported for datatype int32"),
    (
        (lambda x, y: new(SPARSE, features=x, labels=y), [fed([[7.0]], tf.float32), fed(0)]),
        "labels must be 1-D, but got shape []",
    ),
]


@pytest.mark.parametrize(("program", "message"), CASES, ids=range(len(CASES)))
def test_what_a_run_says(program: Any, message: str) -> None:
    function, given = program
    placeholders = [tf.placeholder(dtype) for dtype, _ in given]
    result = function(*placeholders)
    feeds = {tensor: value for tensor, (_, value) in zip(placeholders, given, strict=True)}
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(result, feeds)
    assert message in str(caught.value)


def test_types_that_do_not_fit():
    with pytest.raises(TypeError, match="of on_value does not match dtype <dtype: 'int32'> of off_value"):
        tf.one_hot([1], 3, on_value=1.0, off_value=2)
    with pytest.raises(TypeError, match="Expected numeric or variant tensor, got dtype tf.string"):
        tf.conj(["a"])
