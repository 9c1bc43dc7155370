"""A notebook with `%load_ext gpuplace`, run from a clean kernel: what its cells show and leave, and in which forms."""

import ast

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.notebooks.notebook_runs import execute, pages, pictures, texts

pytestmark = [pytest.mark.notebook]

LOCAL = "/job:localhost/replica:0/task:0/device:"
FAILS = ("program fails", "usage")
"""Cells that raise."""
CELLS = {
    "load": "%load_ext gpuplace\nimport gpuplace as tf\nhere = tf.constant(0.0, name='here')",
    "towers": """
%%placement --machine "2x Tesla K40c" --into placed
with tf.device('/cpu:0'):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name='x')
for number in range(2):
    with tf.device(f'/gpu:{number}'):
        tf.matmul(x, x, name=f'tower_{number}')
""",
    "after": "print(len(placed), x.name, [op.name for op in tf.get_default_graph().get_operations()])",
    "not placed": """
%%placement --machine "1x Tesla K40c"
good = tf.constant(1.0, name='good')
with tf.device('/gpu:7'):
    bad = tf.negative(good, name='bad')
""",
    "softly": """
%%placement --machine "1x Tesla K40c" --soft --no-picture --no-log
with tf.device('/gpu:7'):
    bad = tf.constant(1.0, name='bad')
""",
    "program fails": """
%%placement --machine "1x Tesla K40c" --no-log
made = tf.constant(1.0, name='made')
made + undefined
""",
    "usage": '%%placement --release "9.9"\ntf.no_op()',
    "line magic": "%placement placed --no-picture --no-log --rows 1",
    "explorer": "%%placement -m cpu --explore\nseen = tf.constant(1.0, name='seen')",
    "kept": """
%%capture kept
import sys
tf.use_machine("1x Tesla K40c")
tf.reset_default_graph()
with tf.device('/cpu:0'):
    a = tf.constant([[2.0]], name='a')
with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
    print("before the run")
    print(session.run(tf.matmul(a, a, name='product')))
print("of standard error", file=sys.stderr)
""",
    "parsed": """
log = tf.parse_log(kept)
left = [piece.text for piece in log.unparsed]
print({"nodes": dict(log), "types": log.types, "gpu": log.devices[0].name, "left": left})
""",
    "frame": 'log.frame()[["type", "device", "line"]]',
    "compared": "print(log.compare(tf.get_default_graph()))",
    "captured magic": """
%%capture shown
%%placement --machine "4x Tesla K20m" --no-picture --no-table
with tf.device('/gpu:3'):
    tf.constant(1.0, name='last')
""",
    "of the magic": 'print(dict(tf.parse_log(shown.outputs[0].data["text/plain"])))',
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Cells by name, as a clean kernel left them."""
    made = [new_code_cell(source.strip()) for source in CELLS.values()]
    for cell, name in zip(made, CELLS, strict=True):
        if name in FAILS:
            cell.metadata["tags"] = ["raises-exception"]
    path = tmp_path_factory.mktemp("magics") / "magics.ipynb"
    nbformat.write(new_notebook(cells=made), path)
    return dict(zip(CELLS, execute(path).notebook.cells, strict=True))


def shown(cell):
    """The only thing that a cell displays."""
    (output,) = cell.outputs
    assert output.output_type == "display_data"
    assert set(output.data) == {"text/html", "text/plain"}
    return output.data["text/html"], output.data["text/plain"]


def test_loading_shows_nothing(cells):
    assert cells["load"].outputs == []


def test_picture_table_and_log(cells):
    page, text = shown(cells["towers"])
    (picture,) = pictures(cells["towers"])
    assert len(picture.boxes) == 3
    assert sum("copy" in kind for kind, _ in picture.arrows) == 2
    assert "Placed on 2x Tesla K40c (2 GPU devices) as TensorFlow 1.15" in page
    assert page.count("<table") == 1 and "<script" not in page and "http" not in page
    for node, device in [("x", "CPU:0"), ("tower_0", "GPU:0"), ("tower_1", "GPU:1")]:
        assert f"{node}: ({'Const' if node == 'x' else 'MatMul'}): {LOCAL}{device}" in page
        assert f"{LOCAL}{device}" in text
    assert "3 nodes: 1 on CPU:0, 1 on GPU:0, 1 on GPU:1; 2 copies between devices, 32 B" in text
    assert "tower_1  MatMul  /device:GPU:1  GPU:1" in text


def test_names_stay_and_the_graph_outside_is_untouched(cells):
    assert texts(cells["after"]) == ["stdout: 3 x:0 ['here']\n"]


def test_a_placement_that_fails(cells):
    """The error, its facts and the picture are shown; nothing is raised."""
    page, text = shown(cells["not placed"])
    sentence = "Cannot assign a device for operation bad: "
    assert 'role="alert"' in page and sentence in page and sentence in text
    assert "was explicitly assigned to /device:GPU:7 but available devices are [" in text
    assert "requested by" in text and "In[4]:4" in text
    assert "allow_soft_placement=True" in text and "allow_soft_placement=True" in page
    (picture,) = pictures(cells["not placed"])
    assert {"good", "bad"} <= {word for _, words, _ in picture.boxes for word in words.split()}


def test_soft_placement_in_place_of_the_error(cells):
    page, text = shown(cells["softly"])
    assert "soft placement" in text and "1 device request overridden" in text
    assert "bad   Const  /device:GPU:7  GPU:0" in text
    assert "<img" not in page and "Device mapping" not in page + text and "alert" not in page


def test_a_program_that_fails_is_shown_as_far_as_it_got(cells):
    display, error = cells["program fails"].outputs
    assert "made  Const  -          GPU:0" in display.data["text/plain"]
    assert (error.output_type, error.ename) == ("error", "NameError")
    assert "undefined" in error.evalue
    traceback = "\n".join(error.traceback)
    assert "made + undefined" in traceback and "magics.py" not in traceback


def test_wrong_options_are_told_in_a_line(cells):
    told = "".join(texts(cells["usage"]))
    assert "--release" in told and "'1.15'" in told
    assert "Traceback" not in told
    assert pages(cells["usage"]) == []


def test_the_line_magic_shows_the_kept_placement(cells):
    page, text = shown(cells["line magic"])
    assert "3 nodes" in text and page.count("<table") == 1
    assert "2 more" in text


def test_an_explorer_has_a_live_and_a_still_form(cells):
    (output,) = cells["explorer"].outputs
    assert {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"} <= set(output.data)
    assert "seen  Const  -          CPU:0" in output.data["text/plain"]
    (picture,) = pictures(cells["explorer"])
    assert len(picture.boxes) == 1


def test_parse_log_of_a_captured_cell(cells):
    assert cells["kept"].outputs == []
    (printed,) = texts(cells["parsed"])
    assert ast.literal_eval(printed.removeprefix("stdout: ")) == {
        "nodes": {"product": f"{LOCAL}GPU:0", "a": f"{LOCAL}CPU:0"},
        "types": {"product": "MatMul", "a": "Const"},
        "gpu": "Tesla K40c",
        "left": ["before the run", "[[4.]]", "of standard error"],
    }


def test_the_frame_of_a_log(cells):
    (output,) = cells["frame"].outputs
    assert output.output_type == "execute_result"
    assert set(output.data) == {"text/html", "text/plain"}
    assert output.data["text/plain"].splitlines()[2:] == [
        "product  MatMul  GPU:0     4",
        "a         Const  CPU:0     5",
    ]


def test_a_log_agrees_with_the_graph_that_wrote_it(cells):
    assert texts(cells["compared"])[0].startswith("stdout: 2 nodes on the same device")


def test_parse_log_of_what_the_magic_shows(cells):
    (printed,) = texts(cells["of the magic"])
    assert ast.literal_eval(printed.removeprefix("stdout: ")) == {"last": f"{LOCAL}GPU:3"}
