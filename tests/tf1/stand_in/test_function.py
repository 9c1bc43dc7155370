"""``Defun``: Python functions in the graph's library. The answers are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.functions import func_graph
from gpuplace.tf1.stand_in.framework import function, function_def_to_graph, graph_to_function_def
from gpuplace.tf1.stand_in.framework.function import Defun
from gpuplace.tf1.stand_in.framework.op_def_library import op_def_library


def run(fetches, feed_dict=None):
    with tf.Session() as session:
        return session.run(fetches, feed_dict)


def test_a_call_is_one_node():
    @Defun(tf.float32, tf.float32, func_name="APlus2B")
    def a_plus_2b(a, b):
        """Adds."""
        return a + b * 2

    first, second = a_plus_2b([1.0], [2.0]), a_plus_2b([1.0], [3.0], name="mine")
    assert [first.op.name, first.op.type, second.op.name] == ["APlus2B", "APlus2B", "mine"]
    assert [value.tolist() for value in run([first, second])] == [[5.0], [7.0]]
    (definition,) = tf.get_default_graph().as_graph_def().library.function
    assert [arg.name for arg in definition.signature.input_arg] == ["a", "b"]
    assert definition.signature.description == "Adds."


def test_a_derived_gradient():
    @Defun(tf.float32, tf.float32)
    def loss(x, w):
        return tf.reduce_sum(tf.tanh(tf.matmul(x, w)))

    random = np.random.RandomState(1)
    x, w = (tf.constant(random.uniform(size=size), tf.float32) for size in ([2, 3], [3, 4]))
    plain = tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(x, w))), [x, w])
    called = tf.gradients(loss(x, w), [x, w])
    assert called[0].op.type == "SymbolicGradient" and called[0].shape == x.shape
    for one, other in zip(run(plain), run(called), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def integer(x):
    return tf.cast(x, tf.int32)


def real(x):
    return tf.cast(x, tf.float32)


@pytest.mark.parametrize(
    ("body", "value", "slope"),
    [
        (lambda x: x * x + real(integer(x)), 3.25, 4.0),
        (lambda x: x * real(tf.cast(x, tf.int64)), 1.5, 2.0),
        (lambda x: real(tf.cast(x, tf.uint8)), 1.0, 1.0),
        (lambda x: real(integer(x) * 3) + x, 4.5, 4.0),
        (lambda x: real(5 - integer(x)) + x, 5.5, 0.0),
        (lambda x: real(integer(3.0 * x) * integer(2.0 * x)) + x, 13.5, 18.0),
        (lambda x: real(tf.pow(integer(2.0 * x), 2)) + x, 10.5, 13.0),
        (
            lambda x: tf.reduce_sum(real(tf.split(tf.stack([integer(x), integer(2.0 * x)]), 2)[1])) + x,
            4.5,
            3.0,
        ),
        (lambda x: tf.reduce_sum(real(tf.concat([tf.reshape(integer(x), [1]), [2]], 0))) + x, 4.5, 2.0),
        (lambda x: real(tf.stop_gradient(integer(x))) + x, 2.5, 1.0),
        (lambda x: 0.5 * real(integer(x)) + x, 2.0, 1.0),
        (lambda x: real(integer(tf.cast(x, tf.bool))) + x, 2.5, 1.0),
    ],
)
def test_the_gradient_of_a_function_passes_through_integers(body, value, slope):
    x = tf.constant(1.5)
    result = Defun(tf.float32, func_name="body")(body)(x)
    assert run([result, *tf.gradients(result, x)]) == [value, slope]


def test_the_gradient_of_a_function_with_a_loop():
    @Defun(tf.float32)
    def powers(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x * real(i)), (1, x))[1]

    x = tf.constant(1.5)
    result = powers(x)
    assert run([result, *tf.gradients(result, x)]) == [6.75, 13.5]


def test_gradients_that_are_given():
    @Defun(tf.float32, tf.float32)
    def tenfold(x, dy):
        return 10 * dy

    def in_python(op, dy):
        return 100 * dy

    @Defun(tf.float32, grad_func=tenfold)
    def by_function(x):
        return x * x

    @Defun(tf.float32, python_grad_func=in_python)
    def by_python(x):
        return x * x

    x = tf.constant(3.0)
    assert run([tf.gradients(by_function(x), x)[0], tf.gradients(by_python(x), x)[0]]) == [10.0, 100.0]


def test_another_number_of_gradients():
    @Defun(tf.float32, tf.float32, tf.float32)
    def too_many(x, dy, dz):
        return x, dy + dz

    @Defun(tf.float32, grad_func=too_many)
    def twice(x):
        return x, x

    x = tf.constant(1.0)
    gradient = tf.gradients(tf.add_n(twice(x)), x)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"SymGrad expects to return 1.*but get 2.*instead"
    ):
        run(gradient)


def test_what_it_uses_of_the_graph_around_it():
    outside = tf.placeholder(tf.float32, [])

    @Defun(tf.float32)
    def scaled(x):
        return x * outside

    made = scaled(2.0)
    assert scaled.captured_inputs == [outside] and list(made.op.inputs)[1] is outside
    assert run(made, {outside: 5.0}) == 10.0


def test_functions_that_call_functions_in_another_graph():
    @Defun(tf.float32)
    def cube(x):
        @Defun(tf.float32)
        def square(y):
            return y * y

        return square(x) * x

    cube(1.0)
    with tf.Graph().as_default() as other:
        assert run(cube(2.0)) == 8.0
        assert len(other.as_graph_def().library.function) == 2
        message = other.as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        (call,) = (op for op in tf.get_default_graph().get_operations() if op.type.startswith("cube"))
        assert run(call.outputs[0]) == 8.0


def test_types_of_each_call():
    @Defun(func_name="Same")
    def same(x):
        return x + x

    assert run([same(2.0), same(np.int64(3))]) == [4.0, 6]
    assert [op.type for op in tf.get_default_graph().get_operations() if op.type.startswith("Same")] == [
        "Same", "Same_int64",
    ]  # fmt: skip


def test_what_is_stateful_runs_though_nothing_needs_it():
    seen = []

    @Defun(tf.float32)
    def noted(x):
        tf.py_func(lambda value: seen.append(float(value)), [x], [])
        return x

    assert run(noted(4.0)) == 4.0 and seen == [4.0]
    assert [kind for _, kind in noted.stateful_ops] == ["PyFunc"]


WRONG = [
    (lambda: Defun()(lambda a=12: a).definition, ValueError, "are not supported"),
    (lambda: Defun(tf.float32)(lambda a, b: a).definition, ValueError, "specified input types"),
    (lambda: Defun(tf.float32, tf.float32)(lambda a: a).definition, ValueError, "specified input types"),
    (lambda: Defun()(lambda: (None, None)).definition, ValueError, "can not return None"),
    (lambda: Defun(tf.int32)(lambda a: a)(1, 2), ValueError, "Expected number of arguments: 1, received: 2"),
    (lambda: Defun(tf.int32)(lambda a: a)(1, device="x"), ValueError, "Unknown keyword arguments"),
    (lambda: Defun(tf.int32, out_names=["a", "b"])(lambda a: a)(1), tf.errors.InvalidArgumentError,
     "output names size = 2 outputs size = 1"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors(number):
    make, kind, text = WRONG[number]
    with pytest.raises(kind, match=text):
        make()


def test_functions_of_a_library():
    @Defun(tf.float32, tf.float32, func_name="Grad")
    def grad(x, dy):
        return dy

    @Defun(tf.float32, func_name="Func", grad_func=grad)
    def func(x):
        return x

    func(1.0)
    library = tf.get_default_graph().as_graph_def().library
    made = {one.name: one for one in function.from_library(library)}
    assert made["Func"].grad_func_name == "Grad" and made["Grad"].grad_func_name is None
    with tf.Graph().as_default():
        assert run(made["Func"](7.0)) == 7.0
    library.gradient.add(function_name="Grad", gradient_func="Func")
    with pytest.raises(ValueError, match="cyclic gradient functions"):
        function.from_library(library)


def test_the_graph_of_a_function():
    outside = tf.constant(2.0)
    graph = func_graph.func_graph_from_py_func(
        "f", lambda x, y: {"sum": x + y, "scaled": x * outside}, [tf.TensorSpec([], tf.float32), 3.0], {}
    )
    assert [tensor.dtype for tensor in graph.inputs] == [tf.float32, tf.float32]
    assert graph.external_captures == [outside] and sorted(graph.structured_outputs) == ["scaled", "sum"]
    x = tf.placeholder(tf.float32)
    made = graph_to_function_def.graph_to_function_def(x.graph, [], [x], [x + 1, x * 2], ["plus", "times"])
    assert [arg.name for arg in made.signature.output_arg] == ["plus", "times"]


@pytest.mark.parametrize("op_type", ["PartitionedCall", "StatefulPartitionedCall"])
def test_calls_that_name_the_function(op_type):
    @Defun(tf.float32)
    def square(x):
        return x * x

    x = tf.constant(3.0)
    made = op_def_library.apply_op(op_type, args=[x], Tout=[tf.float32], f=square)
    assert run([*made, *tf.gradients(made, x)]) == [9.0, 6.0]


def test_a_function_as_a_graph():
    @tf.function
    def parts(x, y):
        first, second = tf.split(x * y, 2)
        with tf.control_dependencies([first]):
            return tf.identity(second, name="last")

    concrete = parts.get_concrete_function(tf.TensorSpec([4], tf.float32), tf.TensorSpec([], tf.float32))
    message, names = function_def_to_graph.function_def_to_graph_def(concrete.function_def, [[4], None])
    assert [(node.name, node.op) for node in message.node][:2] == [("x", "Placeholder"), ("y", "Placeholder")]
    assert names["split:output:1"] == "split:1" and names["x"] == "x:0" and names["^last"] == "^last"
    graph = function_def_to_graph.function_def_to_graph(concrete.function_def, [[4], []])
    assert graph.outputs[0].shape.as_list() == [2]
    with tf.Session(graph=graph) as session:
        x, y = graph.inputs
        assert session.run(graph.outputs[0], {x: [1, 2, 3, 4], y: 2}).tolist() == [6.0, 8.0]
    with pytest.raises(ValueError, match="Length of input_shapes must match the number of input_args"):
        function_def_to_graph.function_def_to_graph(concrete.function_def, [[4]])


def test_a_function_of_the_older_kind_waits_for_nothing_outside():
    x = tf.constant(1.0)

    @function.Defun(tf.float32)
    def waits(y):
        with tf.control_dependencies([x]):
            return y + 1.0

    with pytest.raises(ValueError, match="not an element of this graph"):
        waits(x)
