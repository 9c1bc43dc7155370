"""What a notebook shows for each object, in HTML and in text."""

import pytest

import gpuplace as tf
from gpuplace.jupyter.reprs import mimebundle
from gpuplace.views.page.data import page_data
from tests.jupyter.programs import towers

IMG = '<img style="max-width:100%'


def shown(obj) -> tuple[str, str]:
    bundle = obj._repr_mimebundle_()
    return bundle["text/html"], bundle["text/plain"]


@pytest.fixture(autouse=True)
def machine():
    tf.use_machine("4x Tesla K20m")


def test_graph():
    page, text = shown(towers())
    assert IMG in page and "Graph of 7 operations" in page and "4x Tesla K20m" in page
    assert text.splitlines()[0] == "Graph of 7 operations"
    assert "MatMul   /device:GPU:2     1" in text


def test_a_graph_that_cannot_be_placed_here():
    tf.use_machine("1x Tesla K40c")
    page, _ = shown(towers())
    assert "✖" not in page and 'role="alert"' in page and IMG in page


def test_an_empty_graph():
    assert shown(tf.Graph()) == ("<p><b>Graph of 0 operations</b></p>", "Graph of 0 operations")


def test_placement():
    page, text = shown(tf.place(towers()))
    assert IMG in page and "GPU:3: 3" in page
    assert "MatMul_1  MatMul  /device:GPU:3  GPU:3" in text


def test_session():
    with tf.Session(graph=towers()) as session:
        page, text = shown(session)
    assert "Session: 5 devices, graph of 7 operations" in text
    assert "/job:localhost/replica:0/task:0/device:GPU:3" in page


def test_machine(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    page, text = shown(tf.Machine.parse("4x Tesla K20m"))
    assert "Simulated machine: 4x Tesla K20m: 1 CPU device; 4 GPUs" in text
    assert "not in CUDA_VISIBLE_DEVICES" in text and "0000:83:00.0" in page
    assert shown(tf.Machine.parse("2 CPU"))[1] == "Simulated machine: 2 CPU: 2 CPU devices; 0 GPUs"


def test_explanation():
    page, text = shown(tf.place(towers()).explain("MatMul_1"))
    assert text.startswith("MatMul_1 (MatMul) -> /job:localhost/replica:0/task:0/device:GPU:3")
    assert "<b>MatMul_1</b> (MatMul) is on <span" in page and "asked for &#x27;/device:GPU:3&#x27;" in page
    assert page.count(">GPU:3</span>") == 3 and "To move it to CPU" in page


def test_a_closed_session():
    session = tf.Session(graph=towers())
    session.close()
    assert shown(session) == ("<p><b>Session: closed</b></p>", "Session: closed")


def test_harmless_nodes_are_one_line_of_what_is_blamed():
    with tf.Graph().as_default() as graph:
        for number in range(4):
            with tf.device(f"/gpu:{number}"), tf.name_scope(f"tower_{number}"):
                loss = tf.reduce_sum(tf.pow(tf.constant([1, 2]), 2))
                tf.summary.scalar("loss", loss)
    placement = tf.place(graph, config=tf.ConfigProto(allow_soft_placement=True))
    blame = placement.blame()
    page, text = shown(blame)
    line = "Harmless: 8 nodes that never run on a GPU: 4 string constants, 4 summaries"
    assert blame.harmless_text == line and f"<p>{line}</p>" in page and text.endswith(line)
    assert text == str(blame) and page.count("<tr>") == 1 + len(blame.causes)
    frame = blame.frame()
    assert frame["nodes"].sum() == blame.nodes and list(frame["harmless"].dropna()) == [
        row.harmless for row in blame.harmless
    ]
    rows = page_data(placement)["blame"]
    assert [(row[0], row[3]) for row in rows] == [(row.nodes, row.cause) for row in blame]


def test_blame_and_diff():
    soft = tf.ConfigProto(allow_soft_placement=True)
    here, there = tf.place(towers()), tf.place(towers(), machine="cpu", config=soft)
    page, text = shown(here.blame())
    assert "1 of 7 nodes not on a GPU" in page and "the program asks for" in page
    assert text == str(here.blame())
    page, text = shown(here.diff(there))
    assert page.startswith("<p><b>6 nodes move</b></p>") and "GPU:3</span>" in page
    assert text == str(here.diff(there))
    assert shown(here.diff(here)) == ("<p><b>0 nodes move</b></p>", "no node moves")


def test_run_metadata():
    metadata = tf.RunMetadata()
    assert shown(metadata)[1] == "RunMetadata: 0 ops on 0 devices"
    graph = towers()
    with tf.Session(graph=graph) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(graph.get_tensor_by_name("AddN:0"), options=options, run_metadata=metadata)
    page, text = shown(metadata)
    assert "µs from first to last" in page and "GPU:3</span>" in page and "Slowest ops" in page
    assert "GPU:2   " in text


def test_hostile_names_are_text():
    graph_def = tf.GraphDef()
    graph_def.node.add(name="first", op="NoOp", device='"><script>alert(1)</script>&<!--')
    graph_def.node.add(name="next", op="NoOp", input=["^first"], device="/device:GPU:9")
    placement = tf.place(graph_def, on_error="keep")
    others = [placement.explain("first"), placement.blame(), *placement.errors]
    for obj in [placement, placement.diff(tf.place(graph_def, "cpu", on_error="keep")), *others]:
        page, _ = shown(obj)
        assert "<script" not in page and "<b>'" not in page and "<!--" not in page


def test_large_objects_are_quick_and_small():
    graph = tf.Graph()
    with graph.as_default():
        for number in range(4000):
            tf.no_op(name=f"n{number}")
    for obj in (
        graph,
        tf.place(graph),
        tf.place(graph).blame(),
        tf.place(graph).diff(tf.place(graph, "cpu")),
    ):
        page, text = shown(obj)
        assert len(page) < 200_000 and len(text) < 40_000


def test_error():
    tf.use_machine("cpu")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.place(towers())
    page, text = shown(caught.value)
    assert 'role="alert"' in page and "available devices" in page
    assert text.startswith("InvalidArgumentError: Cannot assign a device for operation ")


def test_tensor_and_operation():
    with tf.Graph().as_default(), tf.device("/gpu:1"):
        tensor = tf.matmul(tf.ones([2, 3]), tf.ones([3, 2]), name="<product>".strip("<>"))
    page, text = shown(tensor)
    assert "product:0" in page and "(2, 2)" in page and "product:0" in text
    page, _ = shown(tensor.op)
    assert "MatMul" in page and "/device:GPU:1" in page and "test_reprs.py:" in page


def test_other_objects_are_left_to_ipython():
    assert mimebundle(object()) is None
