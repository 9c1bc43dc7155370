"""Groups of elementwise steps as one kernel: the same bits as step by step, and errors that name the step."""

import importlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.backends import cupy_backend
from gpuplace.graph.apply_op import apply_op
from gpuplace.numerics.fused.one_kernel import OneKernel
from gpuplace.plan import compile as plan_maker
from gpuplace.plan.cuda_graphs import MIN_KERNELS, RUNS_BEFORE, CapturingPlan
from gpuplace.plan.fused_elementwise import fusion_is_on
from gpuplace.plan.schedule.elementwise_groups import FusedStep, fused

IMPORT_MODULE = importlib.import_module
RANDOM = np.random.default_rng(3)
pytestmark = pytest.mark.usefixtures("elementwise_ops_are_fused")


@pytest.fixture
def fake(fake, monkeypatch):
    """The stand-in, for CuPy alone: Hypothesis imports what it needs."""
    monkeypatch.setattr(cupy_backend.importlib, "import_module", IMPORT_MODULE)
    monkeypatch.setattr(cupy_backend, "load_cupy", lambda device: fake)
    return fake


def single(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def calls(fake):
    return [event[1] for event in fake.events if event[0] == "call"]


def both_ways(monkeypatch, fetches, feeds):
    """What a step gives with groups, and what step by step."""
    found = []
    for experiments in ("fusion", ""):
        monkeypatch.setenv("GPUPLACE_GPU_EXPERIMENTS", experiments)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found.append(session.run(fetches, feeds))
    return found


def assert_same_bits(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def fused_functions(session):
    """What computes the groups of a session's only plan."""
    (plan,) = session._plans.values()
    return [value for value in plan.code.function.__globals__.values() if isinstance(value, OneKernel)]


def test_a_chain_is_one_kernel(fake):
    with tf.device("/gpu:0"):
        x, bias = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3])
        y = tf.nn.relu(tf.nn.bias_add(x * 2.0, bias)) * tf.sigmoid(x)
    values, offsets = single(4, 3), single(3)
    with tf.Session() as session:
        found = session.run(y, {x: values, bias: offsets})
    expected = np.maximum(values * np.float32(2) + offsets, 0) * (1 / (1 + np.exp(-values)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert calls(fake) == ["fused_Mul_BiasAdd_Relu_Sigmoid_Mul"]


def test_one_op_of_several_functions_is_one_kernel(fake):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None])
        y, square = tf.erf(x), tf.square(x)
    with tf.Session() as session:
        session.run(y, {x: single(5)})
        assert calls(fake) == ["fused_Erf"]
        session.run(square, {x: single(5)})
    assert calls(fake) == ["fused_Erf", "square"]


def test_values_that_others_need_are_outputs(fake, monkeypatch):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 3])
        inner = tf.tanh(x) + 1.0
        y = inner * inner
        total = tf.reduce_sum(inner)
    feeds = {x: single(4, 3)}
    assert_same_bits(*both_ways(monkeypatch, [y, inner, total], feeds))
    assert calls(fake)[:3] == ["fused_Tanh_AddV2_Mul", "fused_Tanh_AddV2_Mul again", "sum"]


def test_kernels_serve_all_shapes_and_views(fake, monkeypatch):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 2, None, None])
        bias = tf.placeholder(tf.float32, [2])
        y = tf.nn.relu(tf.nn.bias_add(x, bias, data_format="NCHW")) - 1.0
    for shape in ((3, 2, 1, 4), (1, 2, 5, 5), (0, 2, 3, 3)):
        assert_same_bits(*both_ways(monkeypatch, [y], {x: single(*shape), bias: single(2)}))
    assert "fused_BiasAdd_Relu_Sub" in calls(fake)


def test_rows_are_chosen_by_a_vector(fake, monkeypatch):
    with tf.device("/gpu:0"):
        chosen, x = tf.placeholder(tf.bool, [None]), tf.placeholder(tf.float32, [None, 3])
        y = tf.where(chosen, x + 1.0, -x)
    feeds = {chosen: np.array([True, False]), x: single(2, 3)}
    assert_same_bits(*both_ways(monkeypatch, [y], feeds))
    assert "fused_AddV2_Neg_Select" in calls(fake)


def test_values_smaller_than_the_result_are_computed_one_by_one(fake, monkeypatch):
    with tf.device("/gpu:0"):
        x, z = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 3])
        small = x + 1.0
        y = small * z
    feeds = {x: single(1, 3), z: single(4, 3)}
    assert_same_bits(*both_ways(monkeypatch, [y, small], feeds))
    assert "add" in calls(fake) and not any(name.startswith("fused") for name in calls(fake))
    assert_same_bits(*both_ways(monkeypatch, [y], feeds))  # nobody needs the small one
    assert any(name.startswith("fused") for name in calls(fake))


def test_half_precision_is_rounded_after_every_step(fake, monkeypatch):
    with tf.device("/gpu:0"):
        x, y = tf.placeholder(tf.float16, [None]), tf.placeholder(tf.float16, [None])
        z = (x * y + x) / y - x
    feeds = {x: single(500).astype(np.float16), y: single(500).astype(np.float16)}
    assert_same_bits(*both_ways(monkeypatch, [z], feeds))
    assert calls(fake)[0] == "fused_Mul_AddV2_RealDiv_Sub"


def test_what_stays_apart(fake, monkeypatch):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [4, 3])
        summed = tf.reduce_sum(x + 1.0, axis=0, keepdims=True) * 2.0  # not elementwise
        turned = tf.transpose(x + 1.0) + 1.0  # nor that
    with tf.device("/gpu:1"):
        there = x * 3.0  # another GPU
    with tf.device("/cpu:0"):
        here = tf.tanh(x * 3.0) + 1.0
    with tf.Session() as session:
        session.run([summed, turned, there, here], {x: single(4, 3)})
    assert not any(name.startswith("fused") for name in calls(fake))


def test_errors_name_the_step(fake, monkeypatch):
    with tf.device("/gpu:0"):
        x, y, bias = (tf.placeholder(tf.float32, name=name) for name in ("x", "y", "bias"))
        total = tf.add_n([x * 2.0, y + 1.0], name="total")
        z = tf.nn.relu(tf.nn.bias_add(total, bias, name="biased"))
    good = {x: single(2, 3), y: single(2, 3), bias: single(3)}
    for node, wrong in (("total", {y: single(3, 2)}), ("biased", {bias: single(4)})):
        texts = []
        for experiments in ("fusion", ""):
            monkeypatch.setenv("GPUPLACE_GPU_EXPERIMENTS", experiments)
            with tf.Session() as session:
                assert session.run(z, good).shape == (2, 3)
                with pytest.raises(tf.errors.InvalidArgumentError) as error:
                    session.run(z, good | wrong)
                assert error.value.op.name == node
                assert session.run(z, good).shape == (2, 3)
                texts.append(str(error.value))
        assert texts[0] == texts[1]
    assert any(name.startswith("fused") for name in calls(fake))


def test_a_kernel_that_fails_is_replaced_by_its_steps(fake):
    fake.refused = frozenset()
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None])
        y = tf.tanh(x) * 2.0

    def refuse(*arguments, **options):
        def kernel(*arrays):
            raise RuntimeError("nvrtc: error: invalid value for --gpu-architecture")

        return kernel

    fake.ElementwiseKernel = refuse
    with tf.Session() as session:
        for _ in range(2):
            np.testing.assert_array_equal(session.run(y, {x: np.zeros(2, np.float32)}), [0, 0])
        (function,) = fused_functions(session)
    assert function.refused == "RuntimeError: nvrtc: error: invalid value for --gpu-architecture"
    assert calls(fake) == ["tanh", "multiply"] * 2


def test_memory_that_is_short_once_is_asked_for_again(fake):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None])
        y = tf.tanh(x) * 2.0
    kernels, short = fake.ElementwiseKernel, [True]

    def sometimes_short(*arguments, **options):
        kernel = kernels(*arguments, **options)

        def run(*arrays):
            if short.pop():
                raise fake.cuda.memory.OutOfMemoryError("Out of memory allocating 8 bytes")
            return kernel(*arrays)

        return run

    fake.ElementwiseKernel = sometimes_short
    with tf.Session() as session:
        for state in (True, False):
            short.append(state) if not short else None
            session.run(y, {x: np.zeros(2, np.float32)})
        (function,) = fused_functions(session)
    assert function.refused == ""
    assert calls(fake) == ["tanh", "multiply", "fused_Tanh_Mul"]


def test_traces_show_every_op(fake):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        y = tf.tanh(x * 2.0, name="last")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        session.run(y, {x: single(2)}, options, metadata)
    names = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert {"mul", "last"} <= names
    assert calls(fake) == ["multiply", "tanh"]


@pytest.mark.parametrize(
    "change",
    [
        lambda config: setattr(config.graph_options.rewrite_options, "remapping", 2),
        lambda config: setattr(config.graph_options.rewrite_options, "disable_meta_optimizer", True),
        lambda config: setattr(config.graph_options.optimizer_options, "global_jit_level", -1),
    ],
    ids=["remapping", "meta optimizer", "jit level"],
)
def test_tensorflows_options_turn_groups_off(fake, change):
    assert fusion_is_on(None) and fusion_is_on(tf.ConfigProto())
    config = tf.ConfigProto()
    change(config)
    assert not fusion_is_on(config)
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        y = tf.tanh(x * 2.0)
    with tf.Session(config=config) as session:
        session.run(y, {x: single(2)})
    assert calls(fake) == ["multiply", "tanh"]


def test_there_are_no_groups_unless_the_environment_asks_for_them(monkeypatch):
    assert fusion_is_on(None)
    monkeypatch.delenv("GPUPLACE_GPU_EXPERIMENTS")
    assert not fusion_is_on(None)


def test_groups_in_a_cuda_graph(fake, monkeypatch):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 4])
        weights = tf.Variable(single(4, 4))
        y = x
        for _ in range(12):
            y = tf.nn.relu(tf.matmul(y, weights) * 0.1 + 1.0)
    results = []
    for experiments in ("fusion,graphs", "graphs"):
        monkeypatch.setenv("GPUPLACE_GPU_EXPERIMENTS", experiments)
        with tf.Session() as session:
            session.run(weights.initializer)
            for _ in range(RUNS_BEFORE + 2):
                results.append(session.run(y, {x: np.full((2, 4), 0.1, np.float32)}))
            plan = session._plans[(y,), (), (x,)]
            assert isinstance(plan, CapturingPlan) and not plan.not_captured
    for result in results[1:]:
        np.testing.assert_array_equal(results[0], result)
    captured = [event[1] for event in fake.events if event[0] == "captured"]
    assert captured == [24, 48]


def test_a_failing_group_does_not_keep_its_plan_from_being_captured(fake, monkeypatch):
    monkeypatch.setenv("GPUPLACE_GPU_EXPERIMENTS", "fusion,graphs")
    with tf.device("/gpu:0"):
        x, z = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 4])
        y = tf.add_n([x + 1.0, z], name="total")
        for _ in range(MIN_KERNELS):
            y = tf.tanh(tf.reduce_sum(y, axis=0, keepdims=True) + y)
    good, wrong = {x: single(2, 4), z: single(2, 4)}, {x: single(2, 4), z: single(3, 4)}
    with tf.Session() as session:
        for _ in range(RUNS_BEFORE + 1):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="must have the same size and shape"
            ) as error:
                session.run(y, wrong)
            assert error.value.op.name == "total"
        for _ in range(RUNS_BEFORE + 1):
            session.run(y, good)
        plan = session._plans[(y,), (), (x, z)]
        assert plan.not_captured == ""
    assert [event[0] for event in fake.events].count("launch") == 1


def test_steps_in_conditionals_stay_apart(fake):
    with tf.device("/gpu:0"):
        x, chosen = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool, [])
        no, yes = apply_op("Switch", data=x, pred=chosen).outputs
        y = apply_op("Merge", inputs=[tf.exp(no) - 1.0, tf.tanh(yes * 2.0) + 1.0]).outputs[0] * 3.0
    with tf.Session() as session:
        for flag in (True, False):
            values = single(2)
            found = session.run(y, {x: values, chosen: flag})
            inner = np.tanh(values * 2) + 1 if flag else np.exp(values) - 1
            np.testing.assert_allclose(found, inner * 3, rtol=1e-6)
    assert not any(name.startswith("fused") for name in calls(fake))


def test_assignments_keep_their_place(fake, monkeypatch):
    """What is read before an assignment and what is computed from it behind do not meet in one kernel."""
    with tf.device("/gpu:0"):
        v = tf.Variable(np.ones(3, np.float32))
        before = v.read_value() * 2.0
        with tf.control_dependencies([before]):
            changed = tf.assign(v, before + 1.0)
        with tf.control_dependencies([changed]):
            after = v.read_value() * before
    assert_same_bits(*both_ways(monkeypatch, [after, before], {}))


# Any graph


FLOATS = ("float32", "float64", "float16")
BINARY = ["Add", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "DivNoNan", "AddV2"]
UNARY = ["Neg", "Abs", "Sqrt", "Square", "Relu", "Relu6", "Reciprocal", "Sign", "Floor", "Ceil", "Rsqrt"]
SMOOTH = ["Softplus", "Tanh", "Exp", "Sigmoid", "Log1p", "Elu", "Selu", "Sin", "Expm1"]
TESTS = ["Less", "GreaterEqual", "Equal", "NotEqual"]
SHAPES = [(), (3,), (2, 3), (2, 1)]


@st.composite
def programs(draw):
    """Instructions: what to do, on which of the values so far."""
    count = draw(st.integers(2, 14))
    kinds = st.sampled_from(
        [
            "binary",
            "unary",
            "smooth",
            "test",
            "logic",
            "select",
            "cast",
            "integer",
            "matmul",
            "assign",
            "control",
            "addn",
        ]
    )
    number = st.integers(0, 1000)
    return [(draw(kinds), draw(number), draw(number), draw(number)) for _ in range(count)]


def build(program, inputs):
    """The values of a program, and its targets."""
    values, variables, waits = list(inputs), [], []
    for name in ("a", "b"):
        variables.append(tf.Variable(np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3), name=name))

    def of(which, *dtypes):
        found = [value for value in values if value.dtype.base_dtype.name in dtypes]
        return found[which % len(found)]

    def like(value, which):
        found = [
            other
            for other in values
            if other.dtype.base_dtype == value.dtype.base_dtype
            and broadcasts(other.shape.as_list(), value.shape.as_list())
        ]
        return found[which % len(found)]

    for kind, first, second, third in program:
        with tf.control_dependencies(waits[-1:] if kind == "control" else []):
            x = of(first, *FLOATS)
            if kind in ("binary", "control"):
                made = apply_op(BINARY[third % len(BINARY)], x=x, y=like(x, second)).outputs[0]
            elif kind == "unary":
                name = UNARY[third % len(UNARY)]
                made = (
                    tf.nn.relu(x)
                    if name == "Relu"
                    else tf.nn.relu6(x)
                    if name == "Relu6"
                    else apply_op(name, x=x).outputs[0]
                )
            elif kind == "smooth":
                x = of(first, "float32", "float64")
                name = SMOOTH[third % len(SMOOTH)]
                functions = {"Elu": tf.nn.elu, "Selu": tf.nn.selu, "Softplus": tf.nn.softplus}
                made = functions[name](x) if name in functions else apply_op(name, x=x).outputs[0]
            elif kind == "test":
                made = apply_op(TESTS[third % len(TESTS)], x=x, y=like(x, second)).outputs[0]
            elif kind == "logic":
                x = of(first, "bool")
                made = tf.logical_and(x, like(x, second)) if third % 2 else tf.logical_not(x)
            elif kind == "select":
                y = like(x, second)
                condition = of(third, "bool")
                if not broadcasts(condition.shape.as_list(), x.shape.as_list(), y.shape.as_list()):
                    continue
                made = apply_op("SelectV2", condition=condition, t=x, e=y).outputs[0]
            elif kind == "cast":
                x = of(first, "bool", "int64", "float32", "float64")
                made = tf.cast(x, [tf.float32, tf.float64, tf.bool][third % 3])
            elif kind == "integer":
                x = of(first, "int64")
                y = like(x, second)
                divisor = tf.maximum(y, np.int64(1))  # on the CPU, where FloorMod is, zero is an error
                functions = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.floordiv, tf.floormod]
                made = functions[third % 6](x, y if third % 6 < 4 else divisor)
            elif kind == "addn":
                y = like(x, second)
                if x.shape.as_list() != y.shape.as_list():
                    continue
                made = tf.add_n([x, y, x])
            elif kind == "matmul":
                made = tf.reduce_sum(x, keepdims=True)
            else:
                fitting = [
                    v for v in values if v.dtype.base_dtype == tf.float32 and v.shape.as_list() == [2, 3]
                ]
                variable = variables[first % 2]
                with tf.control_dependencies([fitting[third % len(fitting)]]):
                    made = tf.identity(tf.assign_add(variable, fitting[second % len(fitting)]))
            waits.append(made.op)
            values.append(made)
    return values


def broadcasts(*shapes):
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    program=programs(), seed=st.integers(0, 99), wanted=st.lists(st.integers(0, 100), min_size=1, max_size=4)
)
def test_any_graph_gives_the_same_bits(fake, monkeypatch, program, seed, wanted):
    random = np.random.default_rng(seed)
    pairs = []
    monkeypatch.setattr(plan_maker, "fused", lambda *a: pairs.append((a[0], fused(*a))) or pairs[-1][1])
    results = []
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        inputs = [
            tf.placeholder(dtype, shape)
            for dtype in (*FLOATS, "int64", "bool")
            for shape in (SHAPES if dtype != "float64" else SHAPES[1:3])
        ]
        values = build(program, inputs)
        fetches = [values[-1], *[values[number % len(values)] for number in wanted]]
        feeds = {}
        for tensor in inputs:
            given_values = random.standard_normal(tensor.shape.as_list()) * 3
            feeds[tensor] = given_values.astype(tensor.dtype.as_numpy_dtype)
        for experiments in ("fusion", ""):
            monkeypatch.setenv("GPUPLACE_GPU_EXPERIMENTS", experiments)
            with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
                session.run(tf.global_variables_initializer())
                twice = [session.run(fetches, feeds) for _ in range(2)]
                results.append([*twice[0], *twice[1], *session.run(tf.global_variables())])
    for one, other in zip(*results, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)
    for before, after in pairs:
        assert_is_in_order(before, after)


def assert_is_in_order(before, after):
    """Every step comes behind what it takes and waits for, effects keep their order, and no step is lost."""
    done, seen = set(after.feeds), set()
    members = [list(step.steps) if isinstance(step, FusedStep) else [step] for step in after.steps]
    assert sorted(map(id, sum(members, []))) == sorted(map(id, before.steps))
    ops = {step.op for step in before.steps if step.op is not None}
    for step, parts in zip(after.steps, members, strict=True):
        assert set(step.inputs) <= done
        inside = {part.op for part in parts}
        for part in parts:
            assert set(part.control_inputs) & ops <= seen | inside
        seen.update(inside)
        done.update(step.outputs)
    assert set(after.fetches) <= done

    def effects(steps):
        return [step.name for step in steps if step.op is not None and step.op.op_def.is_stateful]

    assert effects(before.steps) == effects(after.steps)
