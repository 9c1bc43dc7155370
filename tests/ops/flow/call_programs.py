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
