"""Operations, names and scopes of a graph."""

import contextlib
import threading

import pytest

import gpuplace as tf
from gpuplace.device.spec import DeviceSpec
from gpuplace.errors import NotFoundError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, make_constant, name_scope
from gpuplace.graph.graph import Graph
from gpuplace.graph.stacks import reset_default_graph


@pytest.fixture
def graph():
    with Graph().as_default() as graph:
        yield graph


def no_op(graph, name=None):
    return graph.create_op("NoOp", [], name=name)


class TestNames:
    def test_numbers_are_added_to_names_that_are_taken(self, graph):
        names = [no_op(graph, name).name for name in ("a", "a", "a", "a_1", "A", None, None)]
        assert names == ["a", "a_1", "a_2", "a_1_1", "A_3", "NoOp", "NoOp_1"]

    def test_scopes_nest_and_are_numbered(self, graph):
        with graph.name_scope("x") as outer:
            assert outer == "x/"
            with graph.name_scope("y"):
                assert no_op(graph, "a").name == "x/y/a"
            with graph.name_scope("y") as second:
                assert second == "x/y_1/"
            with graph.name_scope(None) as root:
                assert (root, no_op(graph, "a").name) == ("", "a")
            with graph.name_scope("other/"):
                assert no_op(graph, "a").name == "other/a"
        with graph.name_scope("x") as again:
            assert again == "x_1/"
        with graph.name_scope(outer):
            assert no_op(graph, "b").name == "x/b"

    def test_unique_name_can_look_without_reserving(self, graph):
        assert [graph.unique_name("n", mark_as_used=False) for _ in range(2)] == ["n", "n"]
        assert [graph.unique_name("n") for _ in range(3)] == ["n", "n_1", "n_2"]

    @pytest.mark.parametrize("name", ["_a", "a b", "", "-x", "é"])
    def test_invalid_scope_names(self, graph, name):
        if name == "":
            with graph.name_scope(name) as scope:
                assert scope == ""
            return
        with pytest.raises(ValueError, match="is not a valid scope name"), graph.name_scope(name):
            pass

    def test_invalid_op_name_leaves_the_graph_as_it_was(self, graph):
        with pytest.raises(ValueError, match="'a b' is not a valid node name"):
            no_op(graph, "a b")
        assert len(graph) == 0

    def test_a_scope_inside_may_begin_with_an_underscore(self, graph):
        with graph.name_scope("a"), graph.name_scope("_b") as scope:
            assert scope == "a/_b/"

    def test_name_scope_function_takes_the_graph_of_its_values(self):
        with Graph().as_default() as first:
            tensor = make_constant(1.0)
        with Graph().as_default(), name_scope(None, "default", [tensor]) as scope:
            assert scope == "default/"
            assert get_default_graph() is first

    def test_name_scope_function_refuses_two_graphs(self):
        with Graph().as_default():
            one = make_constant(1.0)
        with Graph().as_default():
            other = make_constant(1.0)
        with (
            pytest.raises(ValueError, match="must be from the same graph"),
            name_scope("s", values=[one, other]),
        ):
            pass


class TestDevices:
    @pytest.mark.parametrize(
        ("outer", "inner", "requested"),
        [
            ("/job:ps", "/gpu:1", "/job:ps/device:GPU:1"),
            ("/cpu:0", "/gpu:1", "/device:GPU:1"),
            ("/gpu:1", "/job:worker/task:2", "/job:worker/task:2/device:GPU:1"),
            ("/gpu:1", None, ""),
            ("/gpu:1", "", "/device:GPU:1"),
            (DeviceSpec(job="ps"), DeviceSpec(device_type="CPU", device_index=0), "/job:ps/device:CPU:0"),
        ],
    )
    def test_nesting(self, graph, outer, inner, requested):
        with graph.device(outer), graph.device(inner):
            op = no_op(graph)
        assert op.device == requested

    def test_a_function_sees_the_node_and_what_inner_scopes_set(self, graph):
        seen = []

        def choose(op):
            seen.append((op.name, op.type, op.device))
            return "/gpu:7" if op.type == "NoOp" else op.device

        with graph.device(choose), graph.device("/job:a"):
            first = no_op(graph, "first")
            second = make_constant(1.0, name="second")
        assert (first.device, second.device) == ("/gpu:7", "/job:a")
        assert seen == [("first", "NoOp", "/job:a"), ("second", "Const", "/job:a")]

    def test_a_scope_knows_the_line_that_opened_it(self, graph):
        with graph.device("/gpu:1"):
            op = no_op(graph)
        scope = op.device_scopes[0]
        assert scope.filename == __file__
        assert str(scope).startswith("with device('/gpu:1'), ")
        assert op.source.startswith(f"{__file__}:")
        assert op.traceback[-2].name == "test_a_scope_knows_the_line_that_opened_it"

    def test_malformed_names_are_refused_where_they_are_written(self, graph):
        with pytest.raises(ValueError, match="Unknown attribute"), graph.device("/gpu:0/nonsense"):
            pass
        with pytest.raises(TypeError, match="takes a device name"), graph.device(7):
            pass
        assert no_op(graph).device == ""


class TestColocation:
    def test_group_and_device_come_from_the_other_op(self, graph):
        with graph.device("/gpu:3"):
            anchor = no_op(graph, "anchor")
        with graph.device("/cpu:0"), graph.colocate_with(anchor):
            op = no_op(graph)
            third = make_constant(1.0)
        assert op.attrs["_class"] == (b"loc:@anchor",)
        assert (op.device, third.device) == ("/device:GPU:3", "/device:GPU:3")
        with graph.colocate_with(op):
            assert no_op(graph).colocation_groups() == [b"loc:@anchor"]

    def test_groups_add_up_unless_the_outer_ones_are_ignored(self, graph):
        a, b = no_op(graph, "a"), no_op(graph, "b")
        with graph.colocate_with(b), graph.colocate_with(a):
            assert no_op(graph).attrs["_class"] == (b"loc:@a", b"loc:@b")
            with graph.colocate_with(a, ignore_existing=True):
                assert no_op(graph).attrs["_class"] == (b"loc:@a",)
            with graph.colocate_with(None, ignore_existing=True):
                assert "_class" not in no_op(graph).attrs
        with pytest.raises(ValueError, match="Trying to reset colocation"), graph.colocate_with(None):
            pass


class TestControlDependencies:
    def test_inputs_and_scopes(self, graph):
        a, b = no_op(graph, "a"), make_constant(1.0, name="b")
        with graph.control_dependencies([a]), graph.control_dependencies([b]):
            op = no_op(graph)
            product = apply_op("Neg", x=b)
            follower = apply_op("Neg", x=product.outputs[0])
            with graph.control_dependencies(None):
                free = no_op(graph)
        assert op.control_inputs == [a, b.op]
        assert product.control_inputs == [a]
        assert follower.control_inputs == []
        assert free.control_inputs == []
        assert a.control_outputs == [op, product]


class TestLookingUp:
    @pytest.mark.parametrize(
        ("name", "error", "message"),
        [
            ("a", ValueError, "refers to an Operation, not a Tensor"),
            ("zz", ValueError, "looks like an \\(invalid\\) Operation name"),
            ("zz:0", KeyError, "The operation, 'zz', does not exist in the graph"),
            ("a:1", KeyError, "exists but only has 1 outputs"),
            ("a:x", ValueError, "Tensor names must be of the form"),
            (3, TypeError, "Tensor names are strings"),
        ],
    )
    def test_tensors(self, graph, name, error, message):
        make_constant(1.0, name="a")
        with pytest.raises(error, match=message):
            graph.get_tensor_by_name(name)

    def test_operations(self, graph):
        op = no_op(graph, "a")
        assert graph.get_operation_by_name("a") is op
        with pytest.raises(KeyError, match="refers to an Operation not in the graph"):
            graph.get_operation_by_name("b")
        with pytest.raises(ValueError, match="appears to refer to a Tensor"):
            graph.get_operation_by_name("a:0")
        with pytest.raises(TypeError, match="Can not convert a float into a Tensor or Operation"):
            graph.as_graph_element(1.5)
        with (
            Graph().as_default() as other,
            pytest.raises(ValueError, match="is not an element of this graph"),
        ):
            other.as_graph_element(op)


class TestState:
    def test_finalised_graphs_refuse_everything_that_changes_them(self, graph):
        op = no_op(graph)
        graph.finalize()
        for change in (
            lambda: no_op(graph),
            lambda: graph.add_to_collection("c", 1),
            lambda: op._add_control_input(op),
        ):
            with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
                change()
        assert len(graph) == 1

    def test_collections(self, graph):
        a, b = no_op(graph, "x/a"), no_op(graph, "b")
        graph.add_to_collection("ops", a)
        graph.add_to_collections(["ops", "more", "ops"], b)
        assert graph.get_collection("ops") == [a, b]
        assert graph.get_collection("ops", scope="x") == [a]
        assert graph.get_collection("none") == []
        graph.get_collection_ref("ops").append(a)
        assert len(graph.get_collection("ops")) == 3
        graph.clear_collection("ops")
        assert graph.get_all_collection_keys() == ["more"]

    def test_default_graphs_are_per_thread_and_nest(self):
        seen = []
        with Graph().as_default() as graph:
            thread = threading.Thread(target=lambda: seen.append(get_default_graph()))
            thread.start()
            thread.join()
            with Graph().as_default() as inner:
                assert get_default_graph() is inner
            assert get_default_graph() is graph
            with pytest.raises(AssertionError, match="Do not use tf.reset_default_graph"):
                reset_default_graph()
        assert seen[0] is not graph
        before = get_default_graph()
        reset_default_graph()
        assert get_default_graph() is not before

    @pytest.mark.parametrize("per_thread", [False, True])
    def test_a_thread_has_the_scopes_of_the_graph_or_after_a_switch_its_own(self, graph, per_thread):
        anchor, first = no_op(graph, "anchor"), no_op(graph, "first")

        def build():
            with graph.device("/gpu:2"):
                no_op(graph, "inner")
            no_op(graph, "outer")

        with contextlib.ExitStack() as scopes:
            scopes.enter_context(graph.name_scope("tower"))
            scopes.enter_context(graph.device("/job:worker"))
            if per_thread:
                graph.switch_to_thread_local()
            scopes.enter_context(graph.device("/gpu:1"))
            scopes.enter_context(graph.control_dependencies([first]))
            scopes.enter_context(graph.name_scope("layer"))
            thread = threading.Thread(target=build)
            thread.start()
            thread.join()
            with graph.colocate_with(anchor):
                thread = threading.Thread(target=lambda: no_op(graph, "beside"))
                thread.start()
                thread.join()
            here = no_op(graph, "here")
        inner, outer, beside = map(graph.get_operation_by_name, ("inner", "outer", "beside"))
        assert (here.name, here.device) == ("tower/layer/here", "/job:worker/device:GPU:1")
        assert inner.device == "/job:worker/device:GPU:2"
        assert outer.device == ("/job:worker" if per_thread else "/job:worker/device:GPU:1")
        assert outer.control_inputs == ([] if per_thread else [first])
        assert beside.colocation_groups() == [b"loc:@beside" if per_thread else b"loc:@anchor"]

    def test_threads_have_variable_creators_of_their_own(self, graph):
        made = []

        def note(next_creator, **kwargs):
            made.append(kwargs["name"])
            return next_creator(**kwargs)

        def build():
            with graph.as_default():
                tf.Variable(1.0, name="elsewhere")

        with graph.as_default(), tf.variable_creator_scope(note):
            thread = threading.Thread(target=build)
            thread.start()
            thread.join()
            tf.Variable(1.0, name="here")
        assert made == ["here"]

    def test_a_thread_builds_a_loop_while_another_builds_outside_of_it(self, graph):
        inside, outside = threading.Event(), threading.Event()
        made = {}

        def body(x):
            inside.set()
            assert outside.wait(30)
            return x + 1.0

        def build():
            with graph.as_default():
                made["loop"] = tf.while_loop(lambda x: x < 3.0, body, [0.0])

        thread = threading.Thread(target=build)
        thread.start()
        assert inside.wait(30)
        made["plain"] = tf.add(1.0, 2.0)
        made["branch"] = tf.cond(tf.placeholder_with_default(True, []), lambda: 1.0, lambda: 2.0)
        outside.set()
        thread.join()
        assert made["plain"].op._get_control_flow_context() is None
        with tf.Session() as session:
            assert session.run(made) == {"loop": 3.0, "plain": 3.0, "branch": 1.0}

    def test_many_threads_can_build_one_graph(self, graph):
        def build():
            for _ in range(200):
                no_op(graph, "n")

        threads = [threading.Thread(target=build) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        names = [op.name for op in graph.get_operations()]
        assert len(set(names)) == 1600
        assert [op.index for op in graph.get_operations()] == list(range(1600))

    def test_inputs_of_another_graph_are_refused(self, graph):
        with Graph().as_default():
            stranger = make_constant(1.0)
        with pytest.raises(ValueError, match="must be from the same graph"):
            graph.create_op("Neg", [stranger], attrs={"T": stranger.dtype})


class TestApplyOp:
    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (
                lambda: apply_op("MatMul", a=[[1.0]], b=make_constant([[1]])),
                TypeError,
                "Input 'b' of 'MatMul' Op has type int32 that does not match type float32 of argument 'a'",
            ),
            (
                lambda: apply_op("MatMul", a=[["x"]], b=[["y"]]),
                TypeError,
                "Value passed to parameter 'a' has DataType string not in list of allowed values",
            ),
            (lambda: apply_op("AddN", inputs=[]), ValueError, "with length 0 shorter than minimum length 1"),
            (
                lambda: apply_op("AddN", inputs=3),
                TypeError,
                "Expected list for 'inputs' argument to 'AddN' Op",
            ),
            (
                lambda: apply_op("AddN", inputs=[make_constant(1), make_constant(1.0)]),
                TypeError,
                r"have types \[int32, float32\] that don't all match",
            ),
            (
                lambda: apply_op("Assign", ref=make_constant(1.0), value=1.0),
                TypeError,
                "requires that input 'ref' be a mutable tensor",
            ),
            (lambda: apply_op("Neg", x=1.0, y=2.0), TypeError, "unexpected keyword arguments: y"),
            (lambda: apply_op("Neg"), TypeError, "No argument for input x"),
            (lambda: apply_op("Cast", x=1.0), TypeError, "No argument for attr DstT"),
            (lambda: apply_op("Neg", x=None), ValueError, "None values not supported"),
        ],
    )
    def test_errors(self, graph, make, error, message):
        with pytest.raises(error, match=message):
            make()

    def test_unknown_ops_name_similar_ones(self, graph):
        with pytest.raises(NotFoundError, match="Op type not registered 'MatMull'") as caught:
            apply_op("MatMull", a=1, b=1)
        assert "MatMul" in caught.value.hint

    def test_constants_are_named_after_the_argument(self, graph):
        op = apply_op("Mul", x=make_constant(1.0), y=2)
        assert [tensor.name for tensor in op.inputs] == ["Const:0", "Mul/y:0"]
        assert op.inputs[1].op.attrs["value"].array == 2.0

    def test_lists_with_tensors_are_packed(self, graph):
        a = make_constant(1.0)
        packed = convert_to_tensor([[a, 2.0], [3.0, a]])
        assert packed.op.type == "Pack"
        assert [tensor.op.type for tensor in packed.op.inputs] == ["Pack", "Pack"]
        with pytest.raises(TypeError):
            convert_to_tensor([a, make_constant(1)])

    def test_dtype_is_checked(self, graph):
        with pytest.raises(
            ValueError, match="Tensor conversion requested dtype int32 for Tensor with dtype float32"
        ):
            convert_to_tensor(make_constant(1.0), "int32")


class TestTensor:
    def test_programs_keep_notes_on_it(self, graph):
        with graph.as_default():
            tensor = make_constant(1.0)
        tensor.scope, tensor.op.layer = "dense", 3
        assert (tensor.scope, tensor.op.layer) == ("dense", 3)
        assert not hasattr(tensor, "layer")

    def test_text(self, graph):
        with graph.device("/cpu:0"):
            tensor = make_constant([1.0, 2.0], name="t")
        tensor.set_shape([2])
        assert repr(tensor) == "<tf.Tensor 't:0' shape=(2,) dtype=float32>"
        assert str(tensor) == 'Tensor("t:0", shape=(2,), dtype=float32, device=/device:CPU:0)'

    def test_no_truth_no_iteration_no_array(self, graph):
        tensor = make_constant([1.0])
        with pytest.raises(TypeError, match="as a Python `bool` is not allowed"):
            bool(tensor)
        with pytest.raises(TypeError, match="iterating over `tf.Tensor` is not allowed in Graph execution"):
            iter(tensor)
        with pytest.raises(NotImplementedError, match="Cannot convert a symbolic Tensor"):
            tensor.__array__()

    def test_eval_needs_a_session(self, graph):
        with pytest.raises(ValueError, match="Cannot evaluate tensor using `eval\\(\\)`: No default session"):
            make_constant(1.0).eval()
        with pytest.raises(
            ValueError, match="Cannot execute operation using `run\\(\\)`: No default session"
        ):
            no_op(graph).run()
