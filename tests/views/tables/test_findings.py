"""Findings as text, HTML, JSON and a table: all say the same."""

import json
import re

import pytest

import gpuplace as tf
from gpuplace.findings.finding import Finding, Findings, no_findings
from gpuplace.views.page.finding_blocks import finding_blocks
from gpuplace.views.page.page import page_html
from gpuplace.views.tables.findings import findings_html, findings_json, findings_text
from tests.jupyter.programs import towers

SAVES = Finding(
    "gradients elsewhere",
    "Gradients of layers on GPU:1 run on GPU:0",
    "12 gradient nodes run on GPU:0.",
    "Pass colocate_gradients_with_ops=True.",
    "train_op = optimizer.minimize(loss,\n    colocate_gradients_with_ops=True)",
    ("<a>", "b"),
    ("GPU:1", "GPU:0"),
    0.01,
    moved=(("<a>", "GPU:1"),),
)
SHORT = Finding(
    "does not fit",
    "The step does not fit",
    "It needs <more>.",
    "Use less.",
    "",
    (),
    ("GPU:0",),
    None,
    1 << 30,
)
UNKNOWN = Finding(
    "idle GPU", "GPU:1 is idle", "It has nothing to do.", "Build 2 towers.", "x", (), ("GPU:1",), None
)
FOUND = Findings((SHORT, SAVES, UNKNOWN), 0.04, (("savers", 1200),), notes=("A note.",))


def test_text():
    assert findings_text(FOUND).splitlines() == [
        "Findings:",
        "1. The step does not fit (1 GiB short)",
        "   cause  It needs <more>.",
        "   fix    Use less.",
        "2. Gradients of layers on GPU:1 run on GPU:0 (saves 10 ms of 40 ms, 25%)",
        "   cause  12 gradient nodes run on GPU:0.",
        "   fix    Pass colocate_gradients_with_ops=True.",
        "          train_op = optimizer.minimize(loss,",
        "              colocate_gradients_with_ops=True)",
        "3. GPU:1 is idle",
        "   cause  It has nothing to do.",
        "   fix    Build 2 towers.",
        "          x",
        "Harmless: 1,200 nodes that never run on a GPU: 1,200 savers",
        "A note.",
    ]
    assert str(FOUND) == findings_text(FOUND)


def test_nothing_and_why_nothing():
    assert findings_text(Findings((), 1.0)).startswith("Nothing stands out")
    assert findings_text(no_findings("There is no step.")) == "There is no step."
    assert findings_html(no_findings("<none>")) == "<p>&lt;none&gt;</p>"
    assert finding_blocks(no_findings("Why.")) == [{"kind": "text", "text": "Why.", "tone": "faint"}]


def test_html_says_what_the_text_says():
    text = re.sub(r"<[^>]+>", " ", findings_html(FOUND))
    for word in (
        "GPU:1 is idle",
        "1 GiB short",
        "saves 10 ms of 40 ms, 25%",
        "needs &lt;more&gt;",
        "1,200 savers",
        "A note.",
    ):
        assert word in text
    assert "<more>" not in findings_html(FOUND)


def test_json_holds_everything():
    first, second, _ = json.loads(json.dumps(findings_json(FOUND)))
    assert (first["short"], first["gain"]) == (1 << 30, None)
    assert second["moved"] == {"<a>": "GPU:1"}
    assert second["nodes"] == ["<a>", "b"]
    assert set(second) == {
        "kind",
        "headline",
        "cause",
        "fix",
        "code",
        "gain",
        "short",
        "devices",
        "nodes",
        "moved",
    }


def test_frame():
    frame = FOUND.frame()
    assert list(frame["kind"]) == ["does not fit", "gradients elsewhere", "idle GPU"]
    assert frame["gain"].isna().tolist() == [True, False, True]
    assert frame["share"].tolist()[1] == pytest.approx(0.25)
    assert frame["short"].tolist() == [1 << 30, 0, 0]
    assert frame["nodes"].tolist() == [0, 2, 0]
    assert frame["devices"].tolist()[1] == "GPU:1, GPU:0"


def test_blocks_keep_the_order_and_the_code():
    table, harmless, note = finding_blocks(FOUND)
    assert [row[0]["strong"] for row in table["rows"]] == [one.headline for one in FOUND]
    assert table["rows"][1][1]["bar"][0][0] == pytest.approx(0.25)
    assert table["rows"][1][3] == {"text": SAVES.fix, "code": SAVES.code}
    assert table["rows"][0][3] == SHORT.fix
    assert (harmless["text"], note["text"]) == (
        "Harmless: 1,200 nodes that never run on a GPU: 1,200 savers",
        "A note.",
    )


def test_hostile_names_stay_text_on_a_page():
    hostile = "</script><b>\u202e\x00"
    one = Finding("idle GPU", hostile, hostile, hostile, f"{hostile}\n{hostile}", (), (), 0.1)
    page = page_html(tf.place(towers(), "4x Tesla K20m"), findings=Findings((one,), 1.0))
    assert "</script><b>" not in page
    assert "\u202e" not in page
    assert "\x00" not in page


def test_notebooks_show_findings():
    shown = FOUND._repr_mimebundle_()
    assert shown["text/plain"] == str(FOUND)
    assert shown["text/html"] == findings_html(FOUND)


def test_an_estimate_begins_with_its_findings():
    with tf.Graph().as_default() as graph:
        for number in range(2):
            with tf.device("/gpu:0"):
                rows = tf.random_normal([4096, 4096], name=f"rows_{number}")
                tf.matmul(rows, rows, name=f"product_{number}")
        step = tf.estimate(graph, ["product_0", "product_1"], machine="2x V100")
    assert step.findings[0].kind == "idle GPU"
    assert step.explain().startswith(f"{step.findings}\nThe step takes ")
    assert step.frame("findings")["headline"].tolist() == [one.headline for one in step.findings]
    assert step._repr_mimebundle_()["text/html"].startswith(findings_html(step.findings))
    assert step.what_if(machine="cpu", soft_placement=True).explain().startswith("The step takes ")
