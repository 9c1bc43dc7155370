"""Random graphs of ops whose shapes hang on each other, on values and on what is fed; with loops and gradients.

`expressions` grows a graph with the functions of TensorFlow 1 or gpuplace: it draws a function, draws tensors for it,
and leaves out what is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.oracle.random_cases import Draw

Maker = Callable[[Any, Draw, "Pool"], Any]
_makers: list[Maker] = []


class Pool:
    """The tensors that there are: of numbers, and of sizes and axes."""

    def __init__(self, d: Draw) -> None:
        self._d = d
        self.numbers: list[Any] = []
        self.sizes: list[Any] = []

    def any(self) -> Any:
        """A tensor of numbers, mostly one of the last."""
        return self._pick(self.numbers)

    def whole(self) -> Any:
        """A tensor of whole numbers."""
        return self._pick(self.sizes)

    def _pick(self, among: Sequence[Any]) -> Any:
        recent = among[-6:] if self._d.chance(2) else among
        return recent[int(self._d.rng.integers(len(recent)))]

    def add(self, made: Any) -> None:
        """Keeps what was made."""
        for one in made if isinstance(made, (list, tuple)) else [made]:
            kind = one.dtype.base_dtype
            if kind.is_integer:
                self.sizes.append(one)
            elif kind.is_floating:
                self.numbers.append(one)


def _maker(function: Maker) -> Maker:
    _makers.append(function)
    return function


def _simple(*makers: Maker) -> None:
    _makers.extend(makers)


_simple(
    lambda tf, d, p: tf.add(p.any(), p.any()),
    lambda tf, d, p: tf.maximum(p.any(), p.any()),
    lambda tf, d, p: tf.matmul(p.any(), p.any(), transpose_a=d.chance(2), transpose_b=d.chance(2)),
    lambda tf, d, p: tf.nn.relu(p.any()),
    lambda tf, d, p: tf.where(p.any() > 0.0, p.any(), p.any()),
    lambda tf, d, p: tf.transpose(p.any()),
    lambda tf, d, p: tf.transpose(p.any(), p.whole()),
    lambda tf, d, p: tf.reshape(p.any(), p.whole()),
    lambda tf, d, p: tf.reshape(p.any(), tf.shape(p.any())),
    lambda tf, d, p: tf.reshape(p.any(), [-1, d.int(1, 5)]),
    lambda tf, d, p: tf.reshape(p.any(), tf.stack([-1, tf.shape(p.any())[d.int(0, 2)]])),
    lambda tf, d, p: tf.reshape(p.any(), tf.concat([tf.shape(p.any())[: d.int(0, 3)], [-1]], 0)),
    lambda tf, d, p: tf.broadcast_to(p.any(), tf.shape(p.any())),
    lambda tf, d, p: tf.expand_dims(p.any(), d.int(-3, 3)),
    lambda tf, d, p: tf.squeeze(p.any()),
    lambda tf, d, p: tf.squeeze(p.any(), [d.int(-2, 2)]),
    lambda tf, d, p: tf.concat([p.any(), p.any()], d.int(-2, 2)),
    lambda tf, d, p: tf.stack([p.any(), p.any()], d.int(-2, 2)),
    lambda tf, d, p: tf.unstack(p.any(), axis=d.int(-2, 2)),
    lambda tf, d, p: tf.split(p.any(), d.int(1, 4), d.int(-2, 2)),
    lambda tf, d, p: tf.tile(p.any(), p.whole()),
    lambda tf, d, p: tf.tile(p.any(), [d.int(0, 3) for _ in range(d.int(1, 3))]),
    lambda tf, d, p: tf.pad(p.any(), [[d.int(0, 3), d.int(0, 3)] for _ in range(d.int(1, 3))]),
    lambda tf, d, p: tf.reduce_sum(p.any(), d.pick(None, 0, 1, -1, [0, 1]), keepdims=d.chance(2)),
    lambda tf, d, p: tf.reduce_max(p.any(), p.whole()),
    lambda tf, d, p: tf.argmax(p.any(), d.int(-2, 2)),
    lambda tf, d, p: tf.gather(p.any(), p.whole(), axis=d.int(0, 2)),
    lambda tf, d, p: tf.fill(p.whole(), 1.0),
    lambda tf, d, p: tf.zeros_like(p.any()),
    lambda tf, d, p: tf.ones(tf.shape(p.any())),
    lambda tf, d, p: tf.cast(tf.range(p.whole()), tf.float32),
    lambda tf, d, p: tf.range(d.int(0, 3), tf.shape(p.any())[d.int(0, 2)], d.int(1, 3)),
    lambda tf, d, p: tf.one_hot(p.whole(), d.int(1, 5)),
    lambda tf, d, p: tf.nn.top_k(p.any(), d.int(0, 3)),
    lambda tf, d, p: tf.slice(p.any(), p.whole(), p.whole()),
    lambda tf, d, p: tf.reverse(p.any(), [d.int(-2, 2)]),
    lambda tf, d, p: tf.diag_part(p.any()),
    lambda tf, d, p: tf.matrix_diag(p.any()),
    lambda tf, d, p: tf.boolean_mask(p.any(), tf.reduce_any(p.any() > 0.5, 1)),
    lambda tf, d, p: tf.unique(tf.reshape(p.any(), [-1]))[0],
    lambda tf, d, p: tf.where(p.any() > 0.5),
    lambda tf, d, p: tf.shape(p.any()),
    lambda tf, d, p: tf.shape_n([p.any(), p.any()]),
    lambda tf, d, p: tf.size(p.any()),
    lambda tf, d, p: tf.rank(p.any()),
    lambda tf, d, p: tf.stack([p.whole(), p.whole()]),
    lambda tf, d, p: tf.concat([p.whole(), p.whole()], 0),
    lambda tf, d, p: tf.stack([tf.shape(p.any())[0], d.int(0, 4)]),
    lambda tf, d, p: p.whole() + d.int(0, 3),
    lambda tf, d, p: p.whole() * p.whole(),
    lambda tf, d, p: tf.reduce_prod(p.whole()),
    lambda tf, d, p: p.whole()[d.int(0, 2)],
    lambda tf, d, p: p.whole()[d.int(-2, 2) :],
    lambda tf, d, p: tf.maximum(p.whole(), d.int(0, 4)),
    lambda tf, d, p: tf.floordiv(p.whole(), d.int(1, 4)),
    lambda tf, d, p: tf.broadcast_dynamic_shape(tf.shape(p.any()), tf.shape(p.any())),
    lambda tf, d, p: tf.gradients(p.any(), [p.any(), p.any()]),
    lambda tf, d, p: tf.nn.softmax(p.any()),
    lambda tf, d, p: tf.nn.bias_add(p.any(), tf.ones([d.int(1, 4)])),
    lambda tf, d, p: tf.nn.conv2d(
        p.any(), tf.ones([d.int(1, 4), 2, 3, d.int(1, 5)]), [1, d.int(1, 3), 1, 1], d.pick("SAME", "VALID")
    ),
    lambda tf, d, p: tf.nn.max_pool(p.any(), [1, 2, d.int(1, 4), 1], [1, d.int(1, 3), 1, 1], d.pick("SAME", "VALID")),
    lambda tf, d, p: tf.space_to_batch(p.any(), [[d.int(0, 2), 1], [1, 1]], 2),
    lambda tf, d, p: tf.depth_to_space(p.any(), 2),
    lambda tf, d, p: tf.image.resize_bilinear(p.any(), p.whole()),
    lambda tf, d, p: tf.einsum("ij,jk->ik", p.any(), p.any()),
    lambda tf, d, p: tf.tensordot(p.any(), p.any(), 1),
    lambda tf, d, p: tf.cumsum(p.any(), d.int(-2, 2)),
    lambda tf, d, p: tf.unsorted_segment_sum(p.any(), p.whole(), d.int(1, 5)),
    lambda tf, d, p: tf.dynamic_partition(p.any(), p.whole(), 2),
    lambda tf, d, p: tf.scatter_nd(tf.reshape(p.whole(), [-1, 1]), p.any(), tf.shape(p.any())),
)  # fmt: skip


@_maker
def _strided(tf: Any, d: Draw, p: Pool) -> Any:
    parts: list[Any] = []
    for _ in range(d.int(1, 4)):
        parts.append(
            d.pick(
                slice(None),
                d.int(-2, 2),
                slice(d.int(-3, 3), d.int(-3, 4)),
                slice(None, None, d.pick(2, -1)),
                tf.newaxis,
                slice(0, tf.shape(p.any())[0]),
            )
        )
    if d.chance(4):
        parts.append(Ellipsis)
    return p.any()[tuple(parts)]


@_maker
def _loop(tf: Any, d: Draw, p: Pool) -> Any:
    start, other, count = p.any(), p.any(), d.pick(d.int(0, 5), tf.shape(p.any())[0])
    how = d.int(0, 3)

    def body(i: Any, a: Any) -> Any:
        grown = (a + 1.0, tf.matmul(a, other), tf.concat([a, other], 0), tf.transpose(a))[how]
        return i + 1, grown

    invariants = [tf.TensorShape([]), tf.TensorShape(None)] if d.chance(2) else None
    return tf.while_loop(lambda i, a: i < count, body, [tf.constant(0), start], invariants)


@_maker
def _conditional(tf: Any, d: Draw, p: Pool) -> Any:
    one, other = p.any(), p.any()
    return tf.cond(tf.reduce_sum(one) > 0.0, lambda: one * 2.0, lambda: other + 1.0)


@_maker
def _array(tf: Any, d: Draw, p: Pool) -> Any:
    element, count = p.any(), d.pick(d.int(1, 4), tf.shape(p.any())[0])
    array = tf.TensorArray(tf.float32, count, infer_shape=not d.chance(3))
    if d.chance(2):
        array = array.unstack(element)
        return [array.read(0), array.stack(), array.concat()][d.int(0, 2)]
    array = array.write(0, element).write(0, p.any() if d.chance(3) else element)
    return [array.read(0), array.stack(), array.size()][d.int(0, 2)]


@_maker
def _mapped(tf: Any, d: Draw, p: Pool) -> Any:
    return tf.map_fn(lambda row: tf.reduce_sum(row, keepdims=True), p.any())


@_maker
def _variable(tf: Any, d: Draw, p: Pool) -> Any:
    initial = p.any()
    made = tf.Variable(initial, validate_shape=not d.chance(2), use_resource=d.chance(2))
    return tf.assign(made, p.any()) if d.chance(3) else made + 1.0


def _start(tf: Any, d: Draw, p: Pool) -> None:
    for _ in range(5):
        shape = d.shape(0, 4)
        given: Any = [None if d.chance(3) else size for size in shape]
        if d.chance(6):
            given = None
        elif d.chance(3):
            given = [d.pick(None, 2), d.pick(None, 8), d.pick(None, 8), 3]
        p.add(tf.placeholder(tf.float32, given) if d.chance(2) else tf.zeros(shape))
    p.add(tf.placeholder(tf.float32, [None, 4]))
    p.add(tf.placeholder(tf.int32, d.pick(None, [2], [None], [])))
    p.add(tf.constant([d.int(0, 4) for _ in range(d.int(1, 4))]))
    p.add(tf.constant(d.int(0, 4)))


def expressions(tf: Any, d: Draw, refusals: Any) -> None:
    """Grows a graph in the default graph.

    Args:
        tf: TensorFlow's ``compat.v1`` or gpuplace.
        d: what is drawn from.
        refusals: classes of errors by which a call is refused.
    """
    pool = Pool(d)
    _start(tf, d, pool)
    for _ in range(d.int(10, 40)):
        try:
            made = _makers[int(d.rng.integers(len(_makers)))](tf, d, pool)
        except refusals:
            continue
        pool.add([one for one in made if one is not None] if isinstance(made, (list, tuple)) else made)
