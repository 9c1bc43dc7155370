"""The report page as a file: self-contained, safe with hostile names, and with everything that it tells."""

import base64
import json
import re

import pytest

import gpuplace as tf
from gpuplace.views.page.bodies import bodies_of
from gpuplace.views.page.data import page_data
from gpuplace.views.page.fixes import Fix
from gpuplace.views.page.page import page_html
from gpuplace.views.tables.calls import all_calls
from gpuplace.views.tables.placement_view import PlacementView
from tests.graphdef.function_libraries import folder, graph_def, saved_model
from tests.jupyter.programs import layered, towers

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    "\"quotes' & \\ back",
    "a\u202eevil",
    "مثال/نص",
    "🚀/🧑\u200d🚀",
    "x\u2028y\x00z\ud800",
    "<img src=x onerror=alert(1)>",
]


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def hostile_view() -> PlacementView:
    nodes = [
        (name, name, name, "/job:<b>/device:GPU:0" if i % 2 else "/device:CPU:0")
        for i, name in enumerate(HOSTILE)
    ]
    edges = [(src, 0, dst, 0) for src, dst in zip(HOSTILE, HOSTILE[1:], strict=False)]
    return PlacementView.of_columns(nodes, edges)


def test_nothing_is_fetched():
    page = page_html(tf.place(towers(), "4x Tesla K20m"))
    assert "default-src 'none'" in page
    assert not re.search(r'(src|href)="(?!data:)', page) and "@import" not in page and "url(" not in page
    modules = json.loads(re.search(r'<script type="importmap" id="modules">(.*?)</script>', page)[1])[
        "imports"
    ]
    head = "data:text/javascript;base64,"
    assert all(url.startswith(head) for url in modules.values())
    scripts = [base64.b64decode(url.removeprefix(head)).decode() for url in modules.values()]
    urls = set(re.findall(r"https?://[^\s\"'`<>]+", "\n".join([page, *scripts])))
    assert urls == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_hostile_names_stay_text():
    page = page_html(hostile_view(), title=HOSTILE[0], settings=[("machine", HOSTILE[0])])
    assert page.count("<script") == page.count("</script>") == 3
    assert "<!--" not in page and "<img" not in page and "\u202e" not in page and "\x00" not in page
    assert page.encode("utf-8")
    data = data_of(page)
    assert data["types"][0] == HOSTILE[0] and data["types"][4] == HOSTILE[4]
    assert "a\\u202eevil" in data["nodes"]["name"]


def test_columns_say_what_the_placement_says():
    soft = tf.ConfigProto(allow_soft_placement=True)
    placement = tf.place(layered(4), "2x Tesla K40c", soft)
    data = page_data(placement, against=tf.place(layered(4), "1x Tesla K40c", soft), against_text="one GPU")
    assert (data["against"], page_data(placement, against=placement)["against"]) == (
        "one GPU",
        "the other placement",
    )
    nodes, scopes = data["nodes"], data["scopes"]

    prefixes = [scopes["path"][scope] for scope in nodes["scope"]]
    for node, prefix in zip(nodes["elsewhere"], nodes["prefix"], strict=True):
        prefixes[node] = nodes["prefixes"][prefix]
    names = [
        f"{prefix}/{name}" if prefix else name for prefix, name in zip(prefixes, nodes["name"], strict=True)
    ]
    assert names == list(placement.graph.names)
    assert [data["devices"][device]["name"] for device in nodes["device"]] == [
        placement[name] for name in names
    ]
    edges = data["edges"]
    assert [(names[s], names[d]) for s, d in zip(edges["src"], edges["dst"], strict=True)] == [
        (edge.src, edge.dst) for edge in placement.edges()
    ]
    assert data["moves"]["total"] == len(data["moves"]["rows"]) == 4 * 3 + 1
    assert {names[row[0]].partition("/")[0] for row in data["moves"]["rows"]} == {"tower_1"}
    log = data["log"]
    lines = [
        line
        if isinstance(line, str)
        else f"{names[line]}: ({data['types'][nodes['type'][line]]}): {log['devices'][nodes['device'][line]]}"
        for line in log["lines"]
    ]
    assert lines == placement.log().splitlines()


@pytest.mark.parametrize("release", ["1.0", "1.4", "2.21"])
def test_the_log_of_other_releases(release):
    placement = tf.place(towers(), "4x Tesla K20m", release=release)
    log = page_data(placement)["log"]
    assert log["typed"] == (release == "2.21")
    assert sum(isinstance(line, int) for line in log["lines"]) == 7


def test_errors_groups_and_causes():
    with tf.Graph().as_default() as graph, tf.device("/gpu:3"):
        variable = tf.Variable(1.0, name="v")
        tf.assign_add(variable, 1.0)
    placement = tf.place(graph, "1x Tesla K40c", on_error="keep")
    data = page_data(placement)
    assert data["errors"][0]["kind"] == "InvalidArgumentError"
    assert ["requested by", "'/device:GPU:3', "] == [
        data["errors"][0]["facts"][1][0],
        data["errors"][0]["facts"][1][1][:17],
    ]
    assert data["nodes"]["guilty"] and data["blame"]
    placed = page_data(tf.place(graph, "4x Tesla K40c"))
    assert [group[1] for group in placed["groups"]] == [4]
    assert page_data(hostile_view())["reasons"] is None


def test_ten_thousand_nodes_in_a_megabyte():
    names = [f"tower_{i % 4}/layer_{i // 40}/op_{i}" for i in range(10_000)]
    nodes = [(name, "MatMul", f"/gpu:{i % 4}", f"/device:GPU:{i % 4}") for i, name in enumerate(names)]
    edges = [(nodes[i][0], 0, nodes[i + 1][0], 0) for i in range(9_999)]
    assert len(page_html(PlacementView.of_columns(nodes, edges))) < 1_500_000


def test_the_page_says_which_part_of_a_model_it_shows(tmp_path):
    path = folder(tmp_path, saved_model("serving_default", "a"))
    page = page_html(tf.place(path, "2x Tesla K40c", signature="a"), settings=[("machine", "two")])
    told = "<dt>graph</dt><dd>signature a of saved_model.pb, tags serve; 1 other</dd>"
    assert page.index(told) < page.index("<dt>machine</dt>")
    assert 'class="body"' not in page  # all calls are inlined
    assert "<dt>graph</dt>" not in page_html(tf.place(towers(), "4x Tesla K20m"))


def bodies_in(page):
    """Function -> its data, of a page."""
    found = re.findall(
        r'<script type="application/json" class="body" data-function="([^"]*)">(.*?)</script>', page
    )
    return {name: json.loads(text) for name, text in found}


def test_the_page_holds_the_bodies_of_what_is_called(tmp_path):
    path = folder(tmp_path, saved_model("serving_default"))
    placement = tf.place(path, "2x Tesla K40c", whole_graph=True)
    data = page_data(placement)
    names = placement.graph.names
    assert {names[node]: calls for node, calls in data["calls"]} == {
        "call": [["f", "outer"]],
        "choose": [["then_branch", "add"], ["else_branch", "add_on_gpu_1"]],
    }
    bodies = bodies_in(page_html(placement, settings=[("machine", "two")]))
    assert list(bodies) == ["outer", "add", "add_on_gpu_1"]
    assert bodies["add_on_gpu_1"]["settings"] == [
        ["graph", "function add_on_gpu_1 of saved_model.pb, tags serve, as a separate graph"],
        ["machine", "two"],
    ]
    devices = bodies["add_on_gpu_1"]["devices"]
    one = bodies["add_on_gpu_1"]["nodes"]["name"].index("one")
    assert devices[bodies["add_on_gpu_1"]["nodes"]["device"][one]]["name"].endswith(
        "GPU:0"
    )  # as the StatelessIf


def test_bodies_are_placed_as_their_graph_was():
    soft = tf.ConfigProto(allow_soft_placement=True)
    placement = tf.place(graph_def(), "1x Tesla K40c", soft, release="2.21")
    body = bodies_of(placement)["add_on_gpu_1"]
    assert (body.soft, body.release, body.device_set.names) == (True, "2.21", placement.device_set.names)
    assert body["one"].endswith("GPU:0")
    message = graph_def()
    next(made for made in message.library.function if made.signature.name == "outer").node_def[
        1
    ].device = "/gpu:1"
    failed = bodies_of(tf.place(message, "1x Tesla K40c"))["outer"]
    assert "was explicitly assigned to /gpu:1" in str(failed.errors[0])


def test_bodies_have_a_limit_and_follow_calls_in_them():
    message = graph_def()
    inner = message.library.function[2].node_def[0]
    inner.attr["f"].func.name = "kept"
    kept = message.library.function.add()
    kept.CopyFrom(message.library.function[0])
    kept.signature.name = "kept"
    kept.attr["_noinline"].b = True
    placement = tf.place(message, "2x Tesla K40c")
    found = bodies_of(placement)
    assert list(found) == ["outer", "add", "add_on_gpu_1", "kept"]
    assert found["outer"].graph.op_type(found["outer"].graph.index["call"]) == "PartitionedCall"
    assert list(bodies_of(placement, most_bodies=2)) == ["outer", "add"]
    least = len(found["outer"]) + len(found["add"])
    assert list(bodies_of(placement, most_nodes=least)) == ["outer", "add"]
    assert list(bodies_of(placement, most_nodes=len(found["add"]))) == ["outer"]
    assert bodies_of(hostile_view()) == {}
    made = message.node.add(name="same", op="template", input=["x"])
    made.attr["T"].type = 1  # only a call says of which type it is: no graph of its own
    placement = tf.place(message, "2x Tesla K40c")
    assert [placement.graph.names[node] for node in all_calls(placement)] == ["call", "choose", "same"]
    assert "template" not in bodies_of(placement)


def test_fixes_of_a_refused_graph_stand_below_its_error():
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        tf.constant(1.0, name="x")
    placed = tf.place(graph, "cpu", tf.ConfigProto(allow_soft_placement=True))
    fixes = [
        Fix("Use <it>", "everything can be placed", "--soft", "config = ...", placed),
        Fix("Use a machine with 1x T4", "2 errors left", "--machine '1x T4'", "tf.use_machine('1x T4')"),
    ]
    text = page_html(tf.place(graph, "cpu", on_error="keep"), fixes=fixes)
    body = text[text.index("<body") :]
    error, table = body.index("was explicitly assigned"), body.index("Fixes")
    assert error < table < body.index("<code>--soft</code>") < body.index('id="graph"')
    assert body.count("Show the placement") == 1
    assert '<a href="#/Use%20%3Cit%3E/">' in body
    assert 'data-function="Use &lt;it&gt;">' in body
    assert "--machine &#x27;1x T4&#x27;" in body


def test_a_refused_graph_leads_with_its_error():
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        tf.constant(1.0, name="x")
    text = page_html(tf.place(graph, "cpu", on_error="keep"))
    body = text[text.index("<body") :]
    assert "<p>TensorFlow rejects this graph." in body
    refused = body.index("This graph cannot be placed")
    assert refused < body.index("was explicitly assigned to /device:GPU:0") < body.index('id="graph"')
    assert refused < body.index("soft_placement") < body.index('id="graph"')
    assert "This graph cannot be placed" not in page_html(tf.place(graph, "1x T4"))
