"""Programs with lists of tensors, functions and functional control flow, which run in TensorFlow 1.15.5 and here.

Each takes ``tf`` and a function that gives a module below ``tensorflow.python``; it returns what is fetched, after the
initialisers have run.
"""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


# Lists of tensors


@program
def lists_are_filled_and_emptied(tf, module):
    lists = module("ops.list_ops")
    handle = lists.empty_tensor_list([2], tf.float32)
    handle = lists.tensor_list_push_back(handle, [1.0, 2.0])
    handle = lists.tensor_list_push_back(handle, tf.constant([3.0, 4.0]))
    left, last = lists.tensor_list_pop_back(handle, tf.float32)
    return [
        lists.tensor_list_stack(handle, tf.float32),
        last,
        lists.tensor_list_length(left),
        lists.tensor_list_element_shape(left, tf.int32),
        lists.tensor_list_get_item(handle, 0, tf.float32),
        lists.tensor_list_gather(handle, [1, 0, 1], tf.float32),
        lists.tensor_list_concat(handle, tf.float32),
    ]


@program
def lists_of_what_is_not_set(tf, module):
    lists = module("ops.list_ops")
    handle = lists.tensor_list_reserve([None, 2], 3, tf.int32)
    handle = lists.tensor_list_set_item(handle, 1, [[5, 6]])
    longer = lists.tensor_list_set_item(handle, 4, [[7, 8]], resize_if_index_out_of_bounds=True)
    scattered = lists.tensor_list_scatter(tf.constant([[1], [2]]), [2, 0], element_shape=[1])
    return [
        lists.tensor_list_stack(handle, tf.int32),
        lists.tensor_list_stack(longer, tf.int32),
        lists.tensor_list_stack(scattered, tf.int32),
        lists.tensor_list_stack(
            lists.tensor_list_scatter(tf.constant([[9]]), [1], input_handle=scattered), tf.int32
        ),
        lists.tensor_list_stack(lists.tensor_list_resize(scattered, 1), tf.int32),
    ]


@program
def lists_of_pieces(tf, module):
    lists = module("ops.list_ops")
    whole = tf.constant([[1.0], [2.0], [3.0]])
    handle = lists.tensor_list_split(whole, element_shape=[None, 1], lengths=[1, 2])
    again = lists.tensor_list_concat(handle, tf.float32)
    return [
        lists.tensor_list_length(handle),
        lists.tensor_list_get_item(handle, 1, tf.float32),
        again,
        *tf.gradients(again * again, [whole]),
    ]


@program
def batches_of_lists(tf, module):
    lists = module("ops.list_ops")
    one = lists.tensor_list_from_tensor([1.0, 2.0], element_shape=[])
    other = lists.tensor_list_from_tensor([3.0, 4.0], element_shape=[])
    batch = tf.stack([one, other])
    pushed = tf.unstack(lists.tensor_list_push_back_batch(batch, [5.0, 6.0]))
    joined = tf.unstack(lists.tensor_list_concat_lists(batch, batch, element_dtype=tf.float32))
    return [lists.tensor_list_stack(each, tf.float32) for each in (*pushed, *joined, tf.add_n([one, other]))]


@program
def gradients_of_lists(tf, module):
    lists = module("ops.list_ops")
    x, y = tf.constant([1.0, 2.0]), tf.constant([[3.0, 4.0], [5.0, 6.0]])
    handle = lists.tensor_list_push_back(lists.tensor_list_from_tensor(y, element_shape=[2]), x)
    handle = lists.tensor_list_set_item(handle, 0, x * 2.0)
    stacked = lists.tensor_list_stack(handle, tf.float32)
    gathered = lists.tensor_list_gather(handle, [0, 2], tf.float32)
    item = lists.tensor_list_get_item(handle, 1, tf.float32)
    _, last = lists.tensor_list_pop_back(handle, tf.float32)
    scattered = lists.tensor_list_stack(
        lists.tensor_list_scatter(y * y, [1, 0], element_shape=[2]), tf.float32
    )
    loss = tf.reduce_sum(stacked**2.0) + tf.reduce_sum(gathered**3.0) + tf.reduce_sum(item * last * scattered)
    return [loss, *tf.gradients(loss, [x, y])]


# Functional control flow


@program
def conditionals_of_functions(tf, module):
    functional, function = module("ops.functional_ops"), module("framework.function")

    @function.Defun(tf.float32, func_name="Twice")
    def twice(x):
        return x * 2.0

    @function.Defun(tf.float32, func_name="OneLess")
    def less(x):
        return x - 1.0

    x = tf.constant([3.0, 4.0])
    conditions = [True, False, 5, 0.0, "text", "", tf.zeros([0]), tf.zeros([2])]
    found = [
        functional.If(tf.constant(one) if not hasattr(one, "op") else one, [x], twice, less)[0]
        for one in conditions
    ]
    cases = [
        module("ops.gen_functional_ops").case(tf.constant(index), [x], [tf.float32], [twice, less])[0]
        for index in (0, 1, 2, -1)
    ]
    return [*found, *cases]


@program
def loops_of_functions(tf, module):
    functional, function = module("ops.functional_ops"), module("framework.function")

    @function.Defun(tf.int32, tf.float32, func_name="GoesOn")
    def goes_on(n, x):
        return n > 0

    step = tf.constant(0.5)

    @function.Defun(tf.int32, tf.float32, func_name="Step")
    def one_step(n, x):
        return n - 1, x + tf.cast(n, tf.float32)

    @function.Defun(tf.int32, tf.float32, func_name="WithTaken")
    def with_taken(n, x):
        return n - 1, x * step

    @function.Defun(tf.int32, tf.float32, func_name="AddNumber")
    def add_number(i, x):
        return x + tf.cast(i, tf.float32) * step

    return [
        *functional.While([tf.constant(4), tf.constant(1.0)], goes_on, one_step),
        *functional.While([tf.constant(3), tf.constant(8.0)], goes_on, with_taken, name="mine"),
        *functional.For(1, 10, 2, [tf.constant(0.0)], add_number),
        *functional.For(tf.constant(5), tf.constant(-1), tf.constant(-3), [tf.constant(1.0)], add_number),
        *functional.For(0, 4, 1, [tf.constant(2.0)], add_number, rewrite_with_while=True),
    ]


@program
def gradients_of_functions(tf, module):
    functional, function = module("ops.functional_ops"), module("framework.function")

    @function.Defun(tf.float32, tf.float32, func_name="Product")
    def product(x, y):
        return x * y * y

    return functional.Gradient([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]), tf.ones([2])], product)


# Functions


@program
def functions_of_tensors(tf, module):
    @tf.function
    def scaled(x, y, factor=2.0):
        with tf.name_scope("inner"):
            return {"sum": (x + y) * factor, "none": None, "taken": x * taken}

    taken = tf.constant([5.0, 6.0], name="taken")
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    first, again = scaled(x, y), scaled(y, x)
    other = scaled(x, tf.constant(2.0), factor=3.0)
    both = scaled(x, y=y)
    gradients = tf.gradients([first["sum"], first["taken"], other["sum"]], [x, y, taken])
    return [first["sum"], first["taken"], again["sum"], other["sum"], both["taken"], *gradients]


@program
def functions_in_functions(tf, module):
    function = module("eager.function")

    @function.defun
    def square(x):
        return x * x

    @function.defun
    def outer(x, pair):
        left, right = pair
        return square(x) + left * inner(right), right

    @function.defun
    def inner(x):
        return tf.reduce_sum(tf.exp(x) * shift)

    shift = tf.constant(0.5)
    x = tf.constant([1.0, 2.0])
    found, right = outer(x, (tf.constant(2.0), tf.constant([0.0, 1.0])))
    return [found, right, *tf.gradients(found, [x, shift])]


@program
def functions_with_a_signature(tf, module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)])
    def powers(x, n):
        return x ** tf.cast(n, tf.float32)

    concrete = powers.get_concrete_function()
    return [
        powers([1.0, 2.0], 3),
        powers(tf.constant([3.0]), tf.constant(2)),
        concrete(tf.constant([4.0]), tf.constant(1)),
    ]


@program
def functions_of_variables(tf, module):
    v = tf.Variable([1.0, 2.0], use_resource=True, name="v")

    @tf.function
    def add(x):
        v.assign_add(x)
        before = v.read_value()
        v.assign(before * 2.0)
        return before, v + 0.0

    before, after = add(tf.constant([1.0, 1.0]))

    @tf.function
    def nothing(x):
        v.assign(x)

    @tf.function
    def loss(x):
        return tf.reduce_sum(v * v * x)

    with tf.control_dependencies([before, after]):
        done = nothing(tf.constant([7.0, 8.0]))
    with tf.control_dependencies([before]):
        value = loss(tf.constant(3.0))
    return [before, after, *tf.gradients(value, [v.handle])] if done is None else [before, after]


@program
def functions_that_make_variables(tf, module):
    made = []

    @tf.function
    def net(x):
        if not made:
            made.append(tf.Variable(tf.ones([2]) * 3.0, name="w"))
        return x * made[0]

    x = tf.constant([1.0, 2.0])
    return [net(x), net(x + 1.0)]
