"""Sessions: running, feeding, placing as the graph grows, closing; texts as TensorFlow 1.15.5 and 2.21 print them."""

import gc
import threading
import warnings

import numpy as np
import pytest

import gpuplace as tf

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.fixture(autouse=True)
def _graph():
    tf.use_machine("1x Tesla K40c")
    with tf.Graph().as_default():
        yield


def test_values_are_numpy_arrays_and_scalars():
    with tf.Session() as session:
        matrix, scalar = session.run([tf.constant([[1, 2]]), tf.constant(2.5)])
        assert matrix.dtype == np.int32 and matrix.tolist() == [[1, 2]]
        assert isinstance(scalar, np.float32) and scalar == 2.5
        assert session.run(tf.constant("a")) == b"a"
        assert session.run(tf.constant(["a", "b"])).tolist() == [b"a", b"b"]


def test_operations_give_none_and_run_before_values_are_read():
    variable = tf.Variable([1.0, 2.0])
    with tf.Session() as session:
        assert session.run(variable.initializer) is None
        assert session.run([variable.op, variable])[1].tolist() == [1.0, 2.0]


def test_a_fetched_variable_keeps_the_value_it_had():
    variable = tf.Variable([1.0, 2.0])
    update = tf.assign_add(variable, [1.0, 1.0])
    with tf.Session() as session:
        session.run(variable.initializer)
        before = session.run(variable)
        session.run(update.op)
        assert before.tolist() == [1.0, 2.0]
        before[0] = 50
        assert session.run(variable).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_what_is_fetched_or_fed_is_shared_with_nothing(device):
    with tf.device(device):
        x = tf.placeholder(tf.float32, [2])
        variable = tf.Variable([0.0, 0.0])
        assign = tf.assign(variable, x)
        same = tf.identity(x)
        constant = tf.constant([1.0, 2.0])
    with tf.Session() as session:
        mine = np.float32([1, 2])
        session.run(assign.op, {x: mine})
        mine[:] = 9
        assert session.run(variable).tolist() == [1, 2]
        assert not np.shares_memory(session.run(same, {x: mine}), mine)
        assert not np.shares_memory(session.run(x, {x: mine}), mine)
        session.run(constant)[:] = 7
        assert session.run(constant).tolist() == [1, 2]


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_a_result_that_a_variable_keeps_is_not_the_callers(device):
    with tf.device(device):
        a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        product = tf.matmul(a, a)
        variable = tf.Variable(np.zeros([2, 2], np.float32))
        assign = tf.assign(variable, product)
    with tf.Session() as session:
        value, _ = session.run([product, assign.op])
        value[:] = 0
        assert session.run(variable).tolist() == [[7, 10], [15, 22]]


def test_sessions_on_one_graph_have_their_own_variables():
    variable = tf.Variable(1.0)
    with tf.Session() as first, tf.Session() as second:
        first.run(variable.initializer)
        second.run(variable.initializer)
        first.run(tf.assign(variable, 5.0))
        assert (first.run(variable), second.run(variable)) == (5.0, 1.0)


def test_fed_tensors_replace_what_produces_them():
    x = tf.placeholder(tf.float32, [2])
    doubled = tf.add(x, x)
    tripled = tf.add(doubled, x)
    with tf.Session() as session:
        assert session.run(tripled, {x: [1, 2]}).tolist() == [3, 6]
        assert session.run(tripled, {doubled: [10, 10], "Placeholder:0": [1, 2]}).tolist() == [11, 12]
        variable = tf.Variable(1.0)
        assert session.run(tf.add(variable, 1.0), {variable: 7.0}) == 8.0


def test_fetching_what_is_fed_gives_an_array():
    i = tf.placeholder(tf.int32)
    with tf.Session() as session:
        fetched = session.run(i, {i: 2.7})
        assert isinstance(fetched, np.ndarray) and fetched.dtype == np.int32 and fetched == 2


def test_an_unfed_placeholder_is_named_with_its_line():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(tf.identity(x))
    lines = caught.value.message.splitlines()
    assert lines[0] == "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,2]"
    assert (
        lines[1].startswith("\t [[node x (defined at ")
        and lines[1].endswith(") ]]")
        and "test_session.py" in lines[1]
    )
    assert caught.value.op is x.op


def test_an_unfed_placeholder_of_a_scalar_or_unknown_shape():
    for shape in ([], None):
        x = tf.placeholder(tf.float32, shape)
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(tf.identity(x))
        assert caught.value.message.splitlines()[0].endswith("with dtype float")


def test_errors_in_the_words_of_2_21():
    tf.set_release("2.21")
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(tf.identity(x))
        with pytest.raises(
            ValueError, match=r"^Cannot feed value of shape \(3,\) for Tensor x:0, which has shape \(2,\)$"
        ):
            session.run(x, {x: [1, 2, 3]})
    lines = caught.value.message.splitlines()
    assert lines[0] == "Graph execution error:"
    assert lines[2] == "Detected at node 'x' defined at (most recent call last):"
    assert lines[-3] == "Node: 'x'"
    assert lines[-1] == "\t [[{{node x}}]]"


@pytest.mark.parametrize("is_gpu", [False, True])
def test_reading_a_variable_too_early(is_gpu):
    with tf.device("/gpu:0" if is_gpu else "/cpu:0"):
        variable = tf.Variable(1.0, name="v")
        more = tf.add(variable, 1.0)
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            session.run(more)
        assert caught.value.message.startswith(
            "Attempting to use uninitialized value v\n\t [[node v/read (defined at "
        )
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            session.run(variable)
        assert (
            caught.value.message == "Attempting to use uninitialized value v\n\t [[{{node _retval_v_0_0}}]]"
        )


def test_an_error_inside_a_function_says_which_node_failed_and_with_what():
    a, b = tf.constant([1.0, 2.0]), tf.placeholder(tf.float32)
    total = tf.add(a, b, name="total")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(total, {b: [1, 2, 3]})
    error = caught.value
    assert error.op is total.op
    assert "\n\t [[node total (defined at " in error.message
    assert error.facts["inputs"] == "float32[2], float32[3]"
    assert error.facts["device"] == GPU
    assert "test_session.py" in error.facts["created at"]
    assert error.facts["raised"] == "ValueError in the function that computes Add"


def test_an_op_that_nothing_computes_is_an_error_only_where_it_is_needed():
    graph = tf.get_default_graph()
    x = tf.constant([1.0])
    script = graph.create_op("UnicodeScript", [tf.constant([1])])
    with tf.Session() as session:
        assert session.run(x).tolist() == [1.0]
        with pytest.raises(
            tf.errors.UnimplementedError, match="No OpKernel was registered to support Op 'UnicodeScript'"
        ):
            session.run(script)
        assert session.run(tf.identity(script.outputs[0]), {script.outputs[0]: [5]}) == [5]


def test_a_growing_graph_is_placed_again_and_state_stays_where_it_is():
    variable = tf.Variable([1.0], name="v")
    with tf.Session() as session:
        session.run(variable.initializer)
        device = session.placement["v"]
        more = tf.add(variable, [1.0], name="more")
        assert session.run(more).tolist() == [2.0]
        assert session.placement["v"] == device == GPU
        assert session.placement["more"] == GPU
        assert session.run(variable).tolist() == [1.0]


def test_the_whole_graph_is_placed_even_where_the_fetch_does_not_need_it():
    good = tf.constant(1.0)
    with tf.device("/gpu:7"):
        tf.constant(2.0, name="bad")
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="Cannot assign a device for operation bad: node bad"
            ):
                session.run(good)


def test_an_interactive_session_places_only_what_is_needed(capsys):
    good = tf.add(tf.placeholder(tf.float32, [], name="x"), 1.0, name="good")
    with tf.device("/gpu:7"):
        bad = tf.constant(2.0, name="bad")
    session = tf.InteractiveSession(config=tf.ConfigProto(log_device_placement=True))
    try:
        assert good.eval({"x:0": 1.0}) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation bad"):
            bad.eval()
    finally:
        session.close()
    assert capsys.readouterr().out.splitlines()[2:] == [
        f"good: (Add): {GPU}" if good.op.type == "Add" else f"good: (AddV2): {GPU}",
        f"_arg_x_0_0: (_Arg): {CPU}",
        f"_retval_good_0_0: (_Retval): {CPU}",
        f"good/y: (Const): {GPU}",
    ]


def test_log_device_placement_prints_the_mapping_first_and_lines_when_placed(capsys):
    session = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    assert capsys.readouterr().out.splitlines()[0] == "Device mapping:"
    constant = tf.constant(1.0, name="c")
    session.run(constant)
    assert capsys.readouterr().out == f"c: (Const): {GPU}\n"
    session.run(constant)
    assert capsys.readouterr().out == ""
    session.close()


def test_the_release_is_that_of_the_sessions_creation():
    session = tf.Session()
    tf.set_release("2.21")
    x = tf.placeholder(tf.float32, [2], name="x")
    with pytest.raises(ValueError, match="for Tensor 'x:0', which has shape"):
        session.run(x, {x: [1]})


@pytest.mark.parametrize("use_resource", [False, True])
def test_repeated_fetches_of_every_form_follow_the_state(use_resource):
    v = tf.Variable(np.zeros(2, np.float32), use_resource=use_resource)
    x = tf.placeholder(tf.float32, [2])
    more = v.assign_add(x)
    forms = [
        v,
        [v],
        (v, v),
        {"v": v, "double": v * 2.0},
        {"double": v * 2.0, "v": v},
        {1: v},
        {"nested": [v, {"v": v}]},
    ]
    with tf.Session() as session:
        session.run(v.initializer)
        for step in range(1, 4):
            session.run(more.op, {x: [1.0, 2.0]})
            now, double = [step, 2 * step], [2 * step, 4 * step]
            found = [session.run(form) for form in forms]
            assert found[0].tolist() == now and [one.tolist() for one in found[1]] == [now]
            assert type(found[2]) is tuple and [one.tolist() for one in found[2]] == [now, now]
            for one, order in ((found[3], ["v", "double"]), (found[4], ["double", "v"])):
                assert list(one) == order
                assert one["v"].tolist() == now and one["double"].tolist() == double
            assert found[5][1].tolist() == now and found[6]["nested"][1]["v"].tolist() == now
            assert session.run(v, {v: [7.0, 8.0]}).tolist() == [7, 8]
            tf.constant(step)  # the graph grows


def test_closing():
    constant = tf.constant(1.0)
    with tf.Session() as session:
        assert tf.get_default_session() is session
        run = session.make_callable(constant)
        assert run() == 1.0
    assert tf.get_default_session() is None
    for use in (
        lambda: session.run(constant),
        run,
        lambda: session.placement,
        lambda: session.make_callable(constant),
    ):
        with pytest.raises(RuntimeError, match=r"^Attempted to use a closed Session\.$"):
            use()
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
        session.list_devices()
    session.close()


def test_an_empty_graph():
    with tf.Session(graph=tf.Graph()) as session:
        with pytest.raises(
            RuntimeError, match=r"^The Session graph is empty\.  Add operations to the graph before calling"
        ):
            session.run([])


def test_nested_default_sessions():
    x = tf.constant(3.0)
    outer, inner = tf.Session(), tf.Session()
    with outer.as_default():
        with inner.as_default():
            assert tf.get_default_session() is inner
            assert x.eval() == 3.0
        assert tf.get_default_session() is outer
        x.op.run()
    inner.close()
    outer.close()


def test_entering_makes_the_graph_the_default_one():
    graph = tf.Graph()
    with tf.Session(graph=graph) as session:
        assert tf.get_default_graph() is graph
        assert session.graph is graph
        assert session.run(tf.constant(1.0)) == 1.0


def test_interactive_sessions_warn_of_each_other():
    first = tf.InteractiveSession()
    with pytest.warns(UserWarning, match="An interactive session is already active"):
        second = tf.InteractiveSession()
    assert tf.constant(2.0).eval() == 2.0
    second.close()
    first.close()
    first.close()
    assert tf.get_default_session() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.InteractiveSession().close()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"graph": 3}, r"^graph must be a tf\.Graph, but got <class 'int'>$"),
        ({"target": 3}, r"^target must be a string, but got <class 'int'>$"),
        ({"config": 3}, r"^config must be a tf\.ConfigProto, but got <class 'int'>$"),
    ],
)
def test_wrong_arguments(arguments, text):
    with pytest.raises(TypeError, match=text):
        tf.Session(**arguments)


def test_another_engine_is_not_found():
    with pytest.raises(
        tf.errors.NotFoundError, match="No session factory registered for the given session options"
    ):
        tf.Session("etcd://localhost:2222")


def test_list_devices():
    with tf.Session() as session:
        cpu, gpu = session.list_devices()
    assert (cpu.name, cpu.device_type, cpu.memory_limit_bytes) == (CPU, "CPU", 256 << 20)
    assert (gpu.name, gpu.device_type) == (GPU, "GPU")
    assert repr(gpu) == f"_DeviceAttributes({GPU}, GPU, {gpu.memory_limit_bytes}, {gpu.incarnation})"


def test_callables():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.add(x, 1.0)
    with tf.Session() as session:
        run = session.make_callable([y, [y.op]], ["x:0"])
        assert run([1, 2])[0].tolist() == [2.0, 3.0]
        tf.constant(1.0)
        assert run(np.float64([3, 4]))[0].tolist() == [4.0, 5.0]
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            run([1, 2, 3])
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
            run()
        with pytest.raises(TypeError, match="`feed_list` must be a list or tuple"):
            session.make_callable(y, x)
        with_options = session.make_callable(y, [x], accept_options=True)
        metadata = tf.RunMetadata()
        with_options(
            [1, 2], options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata
        )
        assert metadata.step_stats.dev_stats


def test_a_finalised_graph_runs():
    x = tf.add(tf.constant(1.0), 1.0)
    tf.get_default_graph().finalize()
    with tf.Session() as session:
        assert session.run(x) == 2.0


def test_what_waits_for_a_placeholder_waits_for_its_feed():
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([x]):
        one = tf.constant(1.0)
    with tf.Session() as session:
        assert session.run(one, {x: [1, 2]}) == 1
        assert session.run([one, x.op], {x: [1, 2]}) == [1, None]
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder"):
            session.run(one)


def test_control_dependencies_and_the_order_of_assignments():
    variable = tf.Variable(1.0)
    update = tf.assign(variable, 5.0)
    with tf.control_dependencies([update]):
        after = tf.identity(variable.value() if hasattr(variable, "value") else variable)
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(after) in (1.0, 5.0)
        assert session.run(variable) == 5.0


def test_overflow_is_silent():
    with warnings.catch_warnings(), tf.Session() as session, tf.device("/cpu:0"):
        warnings.simplefilter("error")
        x = tf.placeholder(tf.float32)
        assert session.run(tf.multiply(x, x), {x: 1e30}) == np.inf


def test_graph_def():
    tf.constant(1.0, name="c")
    with tf.Session() as session:
        assert [node.name for node in session.graph_def.node] == ["c"]


def test_a_session_that_is_dropped_gives_its_memory_back_at_once():
    variable = tf.Variable(np.zeros([4, 4], np.float32))
    session = tf.Session()
    session.run(variable.initializer)
    session.run([tf.matmul(variable, variable)])
    (allocator,) = session._devices.allocators.values()
    assert allocator.stats().bytes_in_use > 0
    gc.disable()
    try:
        del session
        assert allocator.stats().bytes_in_use == 0
    finally:
        gc.enable()


def test_closing_cancels_what_runs():
    started, may_go_on = threading.Event(), threading.Event()

    def wait(value):
        started.set()
        may_go_on.wait()
        return value

    x = tf.placeholder(tf.float32, [])
    variable = tf.Variable(1.0)
    waited = tf.py_func(wait, [x], tf.float32)
    with tf.control_dependencies([waited]):
        total = tf.add(variable.read_value(), waited)
    for again in (False, True):
        session = tf.Session()
        session.run(variable.initializer)
        may_go_on.set()
        if again:  # what an earlier run made ready
            assert session.run(total, {x: 1.0}) == 2
        started.clear()
        may_go_on.clear()
        caught = []

        def run(session=session, caught=caught):
            try:
                session.run(total, {x: 1.0})
            except tf.errors.CancelledError as error:
                caught.append(error.message)

        thread = threading.Thread(target=run)
        thread.start()
        started.wait()
        session.close()
        may_go_on.set()
        thread.join()
        assert caught == ["Run call was cancelled"]
        with pytest.raises(RuntimeError, match="Attempted to use a closed Session."):
            session.run(total, {x: 1.0})


@pytest.mark.parametrize("use_resource", [False, True])
def test_fed_values_are_copied_only_where_something_may_keep_them(use_resource):
    x = tf.placeholder(tf.float32, [2, 2])
    views = [
        tf.reshape(x, [4]),
        x[1],
        tf.transpose(x),
        tf.expand_dims(x, 0),
        tf.unstack(x)[0],
        tf.identity(x),
    ]
    results = [tf.reduce_sum(tf.nn.relu(view)) for view in views]
    with tf.device("/cpu:0"):
        variable = tf.Variable(np.zeros(4, np.float32), use_resource=use_resource)
        kept = tf.assign(variable, tf.reshape(tf.identity(x), [4]))
    seen = []
    called = tf.py_func(lambda value: seen.append(value) or np.float32(0), [x], tf.float32, stateful=False)
    mine = np.float32([[1, 2], [-3, 4]])

    def source(session):
        return list(session._plans.values())[-1].code.source

    with tf.Session() as session:
        assert session.run(results, {x: mine}) == [7, 4, 7, 7, 3, 7]
        assert "copied(f" not in source(session)
        for value in session.run(views, {x: mine}):
            assert not np.shares_memory(value, mine)
            value[:] = 100
        session.run(called, {x: mine})
        assert "copied(f" not in source(session)
        session.run(kept.op, {x: mine})
        assert "copied(f" in source(session)
        mine[:] = 9
        assert session.run(variable).tolist() == [1, 2, -3, 4]
        assert seen[0].tolist() == [[1, 2], [-3, 4]]
