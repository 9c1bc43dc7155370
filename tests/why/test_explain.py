"""The reason of every rule, as record and as text."""

import pytest

import gpuplace as tf
from gpuplace.device.machine import Machine
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.why.place import place_again
from gpuplace.why.rules import Rule
from tests.support.node_specs import node, placement_graph


def placed(*specs, machine="2x Tesla K40c", soft=False, rules="1.15", **options):
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(list(specs), catalogue), catalogue, rules=rules)
    return place_again(placer, Machine.parse(machine).device_set(environ={}), soft=soft, **options)


def const(name, dtype="float32", **options):
    return node(name, "Const", dtype=dtype, **options)


def rules_of(explanation):
    return [step.rule for step in explanation.steps]


def test_free_choice():
    why = placed(const("a"), node("m", "MatMul", "a", "a", T="float32")).explain("m")
    assert rules_of(why) == [Rule.KERNEL, Rule.TYPE_PRIORITY, Rule.NAME_ORDER]
    assert why.steps[0].after == ("CPU:0", "GPU:0", "GPU:1")
    assert why.steps[1].after == ("GPU:0", "GPU:1")
    assert (why.rule, why.steps[-1].after) == (Rule.TYPE_PRIORITY, ("GPU:0",))
    assert why.remedy == (("CPU", "ask for '/device:CPU:0'"),)
    text = str(why)
    assert text.startswith("m (MatMul) -> /job:localhost/replica:0/task:0/device:GPU:0\n")
    assert "  request     none\n" in text
    assert "GPU comes before CPU" in text


def test_no_kernel_for_the_type_names_the_types_that_have_one():
    why = placed(const("i", "int32"), node("p", "Pow", "i", "i", T="int32")).explain("p")
    assert rules_of(why) == [Rule.KERNEL]
    assert why.steps[0].note == "kernels for Pow with T=int32: CPU; none on GPU"
    assert why.remedy == (
        ("GPU", "use dtype double, float, half or int64: no GPU kernel for Pow with T=int32"),
    )


def test_no_gpu_kernel_at_all():
    why = placed(const("s", "string"), node("j", "StringJoin", "s", "s", N=2)).explain("j")
    assert why.remedy == (("GPU", "StringJoin has no GPU kernel"),)


def test_a_request_and_its_remedy():
    why = placed(const("a"), node("n", "Neg", "a", T="float32", device="/cpu:0")).explain("n")
    assert rules_of(why) == [Rule.KERNEL, Rule.REQUEST]
    assert why.requested == "/cpu:0"
    assert why.remedy == (("GPU", "ask for '/device:GPU:0' instead of '/cpu:0'"),)


def test_a_reference_edge_makes_the_consumer_yield():
    why = placed(
        node("v", "VariableV2", dtype="float32", device="/gpu:1"),
        const("x"),
        node("w", "Assign", "v", "x", T="float32", device="/cpu:0"),
    ).explain("w")
    assert Rule.YIELDS_TO_SOURCE in rules_of(why)
    step = why.steps[rules_of(why).index(Rule.YIELDS_TO_SOURCE)]
    assert step.cause == "v"
    assert (step.before, step.after) == (("CPU:0",), ("GPU:1",))
    assert "the request of w yields to '/device:GPU:1'" in step.note
    assert (why.decided_by, why.group) == ("v", ("v", "w"))


def test_colocated_with_a_node_that_has_no_gpu_kernel():
    why = placed(
        const("i", "int32"),
        node("p", "Pow", "i", "i", T="int32"),
        const("x"),
        node("n", "Neg", "x", T="float32", groups="p"),
    ).explain("n")
    assert rules_of(why) == [Rule.KERNEL, Rule.COLOCATION]
    assert (why.rule, why.decided_by, why.steps[1].cause) == (Rule.KERNEL, "p", "p")
    assert "n is colocated with p: p has no GPU kernel" in why.steps[1].note
    assert why.remedy[0][1].startswith("colocated with p, which has none: no GPU kernel for Pow with T=int32")


def test_a_resource_edge():
    why = placed(
        node("h", "VarHandleOp", dtype="int32"), node("r", "ReadVariableOp", "h", dtype="int32")
    ).explain("r")
    assert Rule.RESOURCE_EDGE in rules_of(why)
    assert "resource edge h -> r: h has no GPU kernel" in str(why)


def test_soft_placement_says_what_it_dropped():
    why = placed(const("a"), node("n", "Neg", "a", T="float32", device="/gpu:7"), soft=True).explain("n")
    assert rules_of(why)[:3] == [Rule.KERNEL, Rule.REQUEST, Rule.SOFT_PLACEMENT]
    assert why.steps[1].after == ()
    assert why.steps[1].note == "asked for '/gpu:7', which the machine does not have"
    assert "instead of '/device:GPU:7': any device" in why.steps[2].note


def test_soft_placement_drops_clashing_requests():
    why = placed(
        node("a", "NoOp", device="/gpu:0"), node("b", "NoOp", device="/gpu:1", groups="a"), soft=True
    ).explain("b")
    assert Rule.REQUESTS_DROPPED in rules_of(why)
    assert "'/device:GPU:1' and '/device:GPU:0' differ" in str(why)


def test_an_ignored_colocation():
    placement = placed(
        const("x"),
        const("s", "string"),
        node("n", "NcclAllReduce", "x", T="float32", reduction="sum"),
        node("t", "StringStrip", "s", groups="n"),
        soft=True,
    )
    why = placement.explain("t")
    assert Rule.COLOCATION_IGNORED in rules_of(why)
    assert "t is colocated with n, but no device type supports both" in str(why)


@pytest.mark.parametrize(
    ("rules", "rule", "device"), [("1.15", Rule.TYPE_PRIORITY, "GPU:0"), ("2.21", Rule.IDENTITY, "CPU:0")]
)
def test_identity_differs_between_the_releases(rules, rule, device):
    placement = placed(
        const("i", "int32"),
        node("p", "Pow", "i", "i", T="int32"),
        node("y", "Identity", "p", T="int32"),
        node("n", "Neg", "y", T="int32"),
        machine="1x Tesla K40c",
        rules=rules,
    )
    why = placement.explain("y")
    assert (why.rule, why.device[-5:]) == (rule, device)


def test_generator_and_metadata_name_what_they_follow():
    placement = placed(
        const("a"), node("n", "Neg", "a", T="float32", device="/gpu:1"), node("s", "Shape", "n", T="float32")
    )
    generator, metadata = placement.explain("a"), placement.explain("s")
    assert (generator.rule, generator.steps[-1].cause) == (Rule.GENERATOR, "n")
    assert (metadata.rule, metadata.steps[-1].cause) == (Rule.METADATA, "n")
    assert "all its consumers are on GPU:1: n" in str(generator)
    assert metadata.remedy == (("CPU", "it follows its input n: ask for '/device:CPU:0', or move n"),)


def test_kernel_priority():
    why = placed(node("i", "IteratorV2", output_types=("float32",)), rules="2.21").explain("i")
    assert Rule.KERNEL_PRIORITY in rules_of(why)


def test_a_list_of_strings_stays_on_the_cpu_in_2x():
    specs = (
        node("h", "Placeholder", dtype="variant"),
        const("s", "string"),
        node("p", "TensorListPushBack", "h", "s", element_dtype="string"),
    )
    why = placed(*specs, rules="2.21").explain("p")
    assert Rule.HOST_DATA in rules_of(why)
    assert Rule.HOST_DATA not in rules_of(placed(*specs, rules="1.15").explain("p"))


def test_an_assigned_node():
    device = "/job:localhost/replica:0/task:0/device:GPU:1"
    why = placed(const("a"), node("n", "Neg", "a", T="float32"), assigned={"n": device}).explain("n")
    assert rules_of(why)[:2] == [Rule.KERNEL, Rule.ASSIGNED]
    assert why.remedy[0][1] == f"its group is already assigned to {device}"


def test_a_node_without_device():
    placement = placed(
        const("a"), node("n", "Neg", "a", T="float32", device="/gpu:5"), machine="cpu", on_error="keep"
    )
    why = placement.explain("n")
    assert (why.rule, why.device) == (Rule.FAILED, "")
    assert why.remedy[0] == ("GPU", "the machine has no GPU")
    assert str(why).startswith("n (Neg) -> no device")
    with pytest.raises(KeyError):
        placement.explain("nobody")


def test_a_conflict_in_a_kept_placement():
    placement = placed(
        node("a", "NoOp", device="/cpu:0"), node("b", "NoOp", device="/gpu:0", groups="a"), on_error="keep"
    )
    why = placement.explain("b")
    assert Rule.CONFLICT in rules_of(why)
    assert "b is colocated with a, but cannot merge devices with incompatible types" in str(why)
    assert "Cannot colocate nodes" in placement.errors[0].message


def test_every_rule_has_a_meaning():
    assert all(rule.meaning for rule in Rule)


def test_a_node_may_be_named_by_its_tensor_or_op():
    with tf.Graph().as_default() as graph:
        op = tf.placeholder(tf.float32, name="x").op
    placement = tf.place(graph, "1x Tesla K40c")
    texts = {str(placement.explain(node)) for node in ("x", "x:0", op, op.outputs[0])}
    assert len(texts) == 1
    with pytest.raises(KeyError, match="no node 'xx'; similar names: x"):
        placement.explain("xx")
