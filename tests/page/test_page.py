"""The report page as a file: self-contained, safe with hostile names, and with everything that it tells."""

import base64
import json
import re

import pytest

import gpuplace as tf
from gpuplace.page.data import page_data
from gpuplace.page.page import page_html
from gpuplace.tables.placement_view import PlacementView
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
    nodes, scopes = data["nodes"], data["scopes"]

    def path(scope):
        above = scopes["parent"][scope]
        return scopes["name"][scope] if above == 0 else f"{path(above)}/{scopes['name'][scope]}"

    names = [
        path(scope) if name is None else f"{path(scope)}/{name}" if scope else name
        for name, scope in zip(nodes["name"], nodes["scope"], strict=True)
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
