"""What keeps nodes off a device type: every cause, its counts and its words."""

import pytest

from gpuplace.device.machine import Machine
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.runtime.session.place import place
from gpuplace.why.place import place_again
from gpuplace.why.rules import FOLLOWING, Rule
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import graph_def, node, placement_graph
from tests.support.training_graph import training_graph


def placed(*specs, machine="2x Tesla K40c", rules="1.15", on_error="raise", **options):
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(list(specs), catalogue), catalogue, rules=rules)
    return place_again(placer, Machine.parse(machine).device_set(environ={}), on_error=on_error, **options)


def const(name, dtype="float32", **options):
    return node(name, "Const", dtype=dtype, **options)


def neg(name, source, **options):
    return node(name, "Neg", source, T="float32", **options)


def counts(row):
    return row.nodes, row.itself, row.bound, row.followers


def test_those_that_share_are_one_row_and_those_that_follow_another():
    blame = placed(
        const("i", "int32"),
        node("p", "Pow", "i", "i", T="int32"),
        const("x"),
        neg("n", "x", groups="p"),
        neg("free", "n"),
    ).blame()
    kernel, generator = blame.rows
    assert (kernel.rule, kernel.cause) == (Rule.KERNEL, "no GPU kernel for Pow with T=int32")
    assert kernel.remedy == "use dtype double, float, half or int64: no GPU kernel for Pow with T=int32"
    assert counts(kernel) == (2, 1, 1, 2)
    assert (kernel.decided_by, kernel.example) == ("p", "p")
    assert kernel.op_types == ("Neg", "Pow")
    assert kernel.dtypes == ("float32", "int32")
    assert generator.rule is Rule.GENERATOR
    assert generator.cause == "follows its consumers (kernel: no GPU kernel for Pow with T=int32)"
    assert counts(generator) == (2, 2, 0, 0)
    assert (generator.decided_by, generator.example) == ("p", "i")
    assert (blame.nodes, blame.total) == (4, 5)
    text = str(blame)
    assert text.startswith(
        "4 of 5 nodes not on a GPU\n  2 nodes  kernel: no GPU kernel for Pow with T=int32\n"
    )
    assert "1 is colocated with such a node (first: p); 2 more nodes follow" in text


def test_causes_are_ranked_by_nodes():
    blame = placed(
        const("i", "int32"),
        *(node(f"p{i}", "Pow", "i", "i", T="int32") for i in range(3)),
        const("x"),
        neg("n", "x", device="/cpu:0"),
    ).blame()
    assert [(row.rule, row.nodes, row.followers) for row in blame] == [
        (Rule.KERNEL, 3, 1),
        (Rule.REQUEST, 1, 1),
        (Rule.GENERATOR, 1, 0),
        (Rule.GENERATOR, 1, 0),
    ]
    assert blame.rows[0].cause == "no GPU kernel for Pow with T=int32"
    assert blame.rows[1].cause == "the program asks for '/cpu:0'"
    assert blame.rows[1].remedy == "ask for '/device:GPU:0' instead of '/cpu:0'"


def test_a_reference_edge_binds_to_the_request_of_the_variable():
    blame = placed(
        node("v", "VariableV2", dtype="float32", device="/cpu:0"),
        const("x"),
        node("w", "Assign", "v", "x", T="float32"),
    ).blame()
    request, generator = blame.rows
    assert (request.rule, request.decided_by, *counts(request)) == (Rule.REQUEST, "v", 2, 1, 1, 1)
    assert (generator.rule, generator.decided_by) == (Rule.GENERATOR, "w")


def test_a_machine_without_gpus():
    (row,) = placed(const("s", "string"), const("x"), neg("n", "x"), machine="cpu").blame()
    assert (row.rule, row.nodes, row.cause) == (Rule.ONLY_DEVICE, 3, "the machine has no other device")


def test_soft_placement_does_not_hide_the_request_of_another_type():
    blame = placed(const("a"), neg("n", "a", device="/cpu:0"), soft=True).blame()
    assert [row.rule for row in blame] == [Rule.REQUEST, Rule.GENERATOR]


def test_an_assigned_device():
    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    assigned, follows = placed(const("a"), neg("n", "a"), assigned={"n": device}).blame()
    assert (assigned.rule, assigned.decided_by, *counts(assigned)) == (Rule.ASSIGNED, "n", 1, 1, 0, 1)
    assert (follows.rule, follows.decided_by) == (Rule.GENERATOR, "n")


def test_a_kernel_priority_and_a_list_of_strings():
    prefetch = placed(*GRAPHS["prefetch prefers the CPU"], rules="2.21").blame()
    assert (Rule.KERNEL_PRIORITY, "p") in [(row.rule, row.decided_by) for row in prefetch]
    listed = {row.rule: row.decided_by for row in placed(*GRAPHS["list of strings"], rules="2.21").blame()}
    assert (listed[Rule.HOST_DATA], listed[Rule.KERNEL]) == ("p", "s")


def test_another_device_type():
    row, follows = placed(const("a"), neg("n", "a"), neg("c", "n", device="/cpu:0")).blame("CPU")
    assert (row.rule, row.cause) == (Rule.TYPE_PRIORITY, "GPU comes before CPU")
    assert row.remedy == "ask for '/device:CPU:0'"
    assert follows.cause == "follows its consumers (type priority: GPU comes before CPU)"


def test_nodes_without_a_device_say_so():
    (row,) = placed(const("a", device="/gpu:7"), on_error="keep").blame()
    assert (row.rule, row.cause) == (Rule.FAILED, "no device is left: '/gpu:7' is not available")
    assert row.remedy == "ask for '/device:GPU:0' instead of '/gpu:7'"


def test_nothing_to_blame():
    assert str(placed(const("a"), neg("n", "a")).blame()) == "every node is on a GPU"
    assert str(placed().blame()) == "the graph has no nodes"


def test_bytes_come_from_the_graph():
    data = graph_def([const("s", "int32"), node("p", "Pow", "s", "s", T="int32")])
    kernel, generator = place(data, machine="1x V100").blame()
    assert (kernel.nodes, kernel.nbytes, kernel.unsized) == (1, 4, 0)
    assert (generator.nodes, generator.nbytes, generator.unsized) == (1, 4, 0)
    assert "4 bytes" in str(place(data, machine="1x V100").blame())
    data = graph_def([node("s", "Placeholder", dtype="int32"), node("p", "Pow", "s", "s", T="int32")])
    (kernel,) = (row for row in place(data, machine="1x V100").blame() if "Pow" in row.op_types)
    assert (kernel.nbytes, kernel.unsized) == (0, 1)
    assert "size unknown" in str(place(data, machine="1x V100").blame())


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
@pytest.mark.parametrize("machine", ["cpu", "2x Tesla K40c"])
def test_every_node_elsewhere_is_counted_once(rules, machine):
    sound = 0
    for name, specs in GRAPHS.items():
        if name in {"cycle", "unknown input", "wrong type", "output that does not exist", "two of one name"}:
            continue
        if name in {"missing attribute", "unknown op"} or (rules == "2.21" and name == "kernel label"):
            continue
        try:
            placement = placed(*specs, rules=rules, machine=machine, on_error="keep")
        except Exception as error:  # an op or attribute of the other release
            assert type(error).__module__ == "gpuplace.errors", name
            continue
        sound += 1
        for kind in ("GPU", "CPU", "TPU"):
            away = sum(f"device:{kind}" not in placement.get(node, "") for node in placement.graph.names)
            blame = placement.blame(kind)
            assert (blame.nodes, blame.total) == (away, len(placement.graph)), (name, kind)
            assert all(row.nodes == row.itself + row.bound for row in blame), name
            follow = sum(row.nodes for row in blame.causes if row.rule in FOLLOWING)
            assert sum(row.followers for row in blame) == follow, name
    assert sound > 90


TOWERS = [
    *(const(f"s{tower}", "string", device=f"/gpu:{tower}") for tower in range(3)),
    *(const(f"i{tower}", "int32", device=f"/gpu:{tower}") for tower in range(3)),
    *(
        node(f"p{tower}", "Pow", f"i{tower}", f"i{tower}", T="int32", device=f"/gpu:{tower}")
        for tower in range(3)
    ),
    *(
        node(f"t{tower}", "ScalarSummary", f"s{tower}", f"p{tower}", T="int32", device=f"/gpu:{tower}")
        for tower in range(3)
    ),
]


def test_causes_that_differ_by_the_number_of_a_gpu_are_one_row():
    blame = placed(*TOWERS, machine="3x Tesla K40c", soft=True).blame()
    (row,) = blame.causes
    assert (row.rule, *counts(row)) == (Rule.SOFT_PLACEMENT, 3, 3, 0, 0)
    assert row.devices == ("/gpu:0", "/gpu:1", "/gpu:2") and row.example == "p0"
    assert row.cause == (
        "asks for '/gpu:0', '/gpu:1' or '/gpu:2', but there is no GPU kernel for Pow with T=int32"
    )
    specs = [(const(f"x{i}"), neg(f"n{i}", f"x{i}", device=f"/cpu:{i}")) for i in range(6)]
    request, follows = placed(*(spec for pair in specs for spec in pair), machine="6 CPU, 1x K80").blame()
    assert request.cause == "the program asks for '/cpu:0', '/cpu:1', '/cpu:2', '/cpu:3' or 2 more"
    assert len(request.devices) == 6 and request.nodes == 6
    assert (follows.nodes, follows.devices) == (6, request.devices)
    assert follows.cause == f"follows its consumers (request: {request.cause})"


def test_requests_of_several_tasks_are_one_cause_and_those_of_several_types_are_not():
    machine = "worker*3: 1x K80"
    specs = [neg(f"n{i}", "x", device=f"/job:worker/task:{i}/cpu:0") for i in range(3)]
    (row,) = placed(*specs, const("x", device="/job:worker/task:0/gpu:0"), machine=machine).blame()
    assert row.nodes == 3 and row.devices == tuple(f"/job:worker/task:{i}/cpu:0" for i in range(3))
    mixed = [neg("a", "x", device="/cpu:0"), neg("b", "x", device="/gpu:0"), const("x", device="/gpu:1")]
    assert [row.devices for row in placed(*mixed).blame("TPU")] == [("/gpu:0", "/gpu:1"), ("/cpu:0",)]


def test_a_gpu_that_is_not_there_is_another_cause_than_a_kernel_that_is_not():
    specs = [
        const("i", "int32"),
        *(node(f"p{i}", "Pow", "i", "i", T="int32", device=f"/gpu:{i}") for i in (0, 1, 7)),
    ]
    causes = {row.cause: row.nodes for row in placed(*specs, soft=True).blame() if row.rule not in FOLLOWING}
    assert causes == {
        "asks for '/gpu:0' or '/gpu:1', but there is no GPU kernel for Pow with T=int32": 2,
        "asks for '/gpu:7', which the machine does not have": 1,
    }


def test_nodes_that_can_never_run_on_a_gpu_are_set_apart():
    blame = placed(
        *TOWERS,
        node("j", "StringJoin", "s0", "s1", N=2),
        node("save", "SaveV2", "j", "j", "j", "x", dtypes=["float32"]),
        const("x"),
        machine="3x Tesla K40c",
        soft=True,
    ).blame()
    assert {row.harmless: (row.nodes, row.itself, row.bound) for row in blame.harmless} == {
        "string constants": (3, 3, 0),
        "summaries": (3, 3, 0),
        "string ops": (1, 1, 0),
        "savers": (1, 1, 0),
    }
    assert blame.rows == blame.causes + blame.harmless
    line = "Harmless: 8 nodes that never run on a GPU: 3 string constants, 3 summaries, 1 saver, 1 string op"
    assert blame.harmless_text == line and str(blame).endswith(f"\n  {line}")
    assert "Const with dtype=string" not in str(blame)
    assert sum(row.followers for row in blame) == sum(
        row.nodes for row in blame.causes if row.rule in FOLLOWING
    )


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
def test_ops_on_numbers_and_ops_with_a_kernel_in_any_release_are_causes(rules):
    specs = [
        const("x"),
        node("u", "Unique", "x", T="float32"),
        node("q", "FIFOQueueV2", component_types=["float32"], device="/cpu:0"),  # 2.21 has a kernel
    ]
    assert not placed(*specs, rules=rules).blame().harmless
    assert placed(const("s", "string"), rules=rules).blame().harmless


def test_without_a_gpu_and_without_a_device_nothing_is_harmless():
    assert not placed(const("s", "string"), machine="cpu").blame().harmless
    failed = placed(const("s", "string", device="/gpu:0"), on_error="keep").blame()
    assert [row.rule for row in failed] == [Rule.FAILED] and not failed.harmless


def test_a_hundred_thousand_nodes():
    specs = [*training_graph(100_000), node("s", "StringJoin", "t", "t", N=2), const("t", "string")]
    placement = placed(*specs, machine="4x Tesla K40c")
    assert placement.blame().nodes == 2
    assert placement.blame("CPU").nodes > 90_000


def test_which_ops_of_the_graph_can_never_run_on_a_gpu():
    placement = placed(
        const("s", "string"),
        node("j", "StringJoin", "s", "s", N=2),
        const("x"),
        node("m", "MatMul", "x", "x", T="float32"),
    )
    gaps = {gap.op: str(gap) for gap in placement.never_on("GPU")}
    assert gaps["StringJoin"] == "StringJoin on GPU: never"
    assert gaps["MatMul"] == "MatMul on GPU: never for T in int32, int64, bfloat16"
    assert set(gaps) <= {"Const", "StringJoin", "MatMul"}
    assert "Neg" not in gaps


@pytest.mark.parametrize(
    ("name", "kind", "remedy"),
    [
        (
            "RefSelect of two variables",
            "GPU",
            "colocated with s, which has none: RefSelect has no GPU kernel",
        ),
        ("read yields", "CPU", "v asks for '/gpu:0': ask for '/device:CPU:0' there"),
    ],
)
def test_a_remedy_that_one_request_does_not_do_names_the_others(name, kind, remedy):
    catalogue = default_catalogue("2.21")
    placer = Placer(placement_graph(GRAPHS[name], catalogue), catalogue, rules="2.21")
    placement = place_again(placer, Machine.parse("2x Tesla K40c").device_set(environ={}), on_error="keep")
    assert remedy in [row.remedy for row in placement.blame(kind)]
