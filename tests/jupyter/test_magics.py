"""`%load_ext gpuplace`: the cell magic and the line magic, in a real IPython shell."""

import os
import warnings

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import gpuplace as tf
from tests.graphdef.function_libraries import folder, saved_model
from tests.jupyter.programs import towers

CELL = """%%placement --machine "2x Tesla K40c"
with tf.device("/gpu:1"):
    a = tf.constant([1.0, 2.0], name="a")
"""
FAILS = """%%placement --machine "1x Tesla K40c" --no-log
good = tf.constant(1.0)

with tf.device("/gpu:7"):
    bad = tf.constant([1.0, 2.0], name="bad")
"""


@pytest.fixture
def shell():
    """An IPython with the extension loaded and `tf` imported."""
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.enabled = False  # no database that outlives the test
    shell = InteractiveShell.instance(colors="nocolor", config=config)
    shell.user_ns["tf"] = tf
    shell.run_line_magic("load_ext", "gpuplace")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def run(shell):
    """`run(cell)` gives (result, outputs as mime bundles, standard output)."""

    def run(cell: str):
        with capture_output() as captured:
            result = shell.run_cell(cell, store_history=True)
        return result, [output.data for output in captured.outputs], captured.stdout + captured.stderr

    return run


def test_picture_table_and_log(run):
    result, outputs, _ = run(CELL)
    assert result.success
    (shown,) = outputs
    page, text = shown["text/html"], shown["text/plain"]
    assert "Placed on 2x Tesla K40c (2 GPU devices) as TensorFlow 1.15" in page
    assert 'src="data:image/svg+xml' in page and "GPU:1: 1" in page
    assert "a: (Const): /job:localhost/replica:0/task:0/device:GPU:1" in page
    assert "a     Const  /device:GPU:1  GPU:1" in text and "Device mapping:" in text


def test_parts_can_be_left_out(run):
    _, (shown,), _ = run(
        CELL.replace("K40c", "K40c", 1).replace('"\n', '" --no-picture --no-table --no-log\n', 1)
    )
    assert "<img" not in shown["text/html"] and "<details" not in shown["text/html"]
    assert "Device mapping" not in shown["text/plain"]


def test_the_process_is_as_before_and_names_stay(run, shell):
    tf.use_machine("4x Tesla K20m")
    outer = tf.get_default_graph()
    run(CELL + 'tf.use_machine("cpu"); tf.set_release("1.0"); tf.InteractiveSession()\n')
    run(
        '%%placement\nimport os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\ntf.reset_default_graph()\nlast = tf.no_op()'
    )
    assert tf.get_default_graph() is outer and not outer.get_operations()
    assert tf.get_default_session() is None and tf.get_release() == "1.15"
    assert str(tf.test.gpu_device_name()) == "/device:GPU:0" and "CUDA_VISIBLE_DEVICES" not in os.environ
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "An interactive session is already active")
        tf.InteractiveSession().close()
    assert shell.user_ns["a"].name == "a:0" and shell.user_ns["last"].name == "NoOp"


def test_what_the_cell_runs_is_on_its_machine(run, shell):
    _, (shown,), _ = run(
        '%%placement -m "4x Tesla K20m" --visible-devices 2,3 -r 1.4\n'
        "session = tf.Session()\nseen = [d.name for d in session.list_devices()]\nz = tf.constant(1.0, name='z')"
    )
    assert len(shell.user_ns["seen"]) == 3
    assert "Placed on 4x Tesla K20m (2 GPU devices) as TensorFlow 1.4" in shown["text/plain"]
    assert "z: /job:localhost/replica:0/task:0/device:GPU:0" in shown["text/plain"]


def test_lines_are_those_of_the_notebook(run, shell):
    run("0")
    run(CELL)
    assert shell.user_ns["a"].op.source == "In[2]:3"


def test_the_last_expression_is_shown(run):
    result, _, told = run(CELL + "41 + 1")
    assert result.success and "42" in told
    assert "42" not in run(CELL + "41 + 1;")[2]


def test_a_placement_that_fails(run):
    result, (shown,), _ = run(FAILS)
    assert result.success
    page = shown["text/html"]
    assert (
        'role="alert"' in page
        and "was explicitly assigned to /device:GPU:7 but available devices are" in page
    )
    assert "In[1]:5" in page and "<img" in page
    assert "InvalidArgumentError: Cannot assign a device for operation bad" in shown["text/plain"]


def test_an_error_in_the_cell_is_the_cells(run, shell):
    before = tf.get_default_graph()
    result, (shown,), told = run(FAILS + "tf.Session().run(bad)\n")
    assert isinstance(result.error_in_exec, tf.errors.InvalidArgumentError)
    assert "The graph when the cell failed" in shown["text/plain"]
    lines = [line for line in told.splitlines() if line.startswith(("Cell", "File"))]
    assert lines[0] == "Cell In[1], line 6"
    assert "magics.py" not in told and "cell_run.py" not in told and "run_cell_magic" not in told
    assert told.count("Traceback (most recent call last)") == 1
    assert tf.get_default_graph() is before


def test_an_error_before_anything_was_made(run):
    result, outputs, told = run("%%placement\n\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError) and outputs == []
    assert "Cell In[1], line 3" in told


def test_syntax_errors_and_await(run):
    result, _, told = run("%%placement\nx = 1\ny = (")
    assert isinstance(result.error_in_exec, SyntaxError) and "line 3" in told
    assert "'await' outside" in run("%%placement\nimport asyncio\nawait asyncio.sleep(0)")[2]


def test_magics_inside_the_cell_work(run, shell):
    run("%%placement -m cpu\nfiles = %pwd\n")
    assert shell.user_ns["files"] == os.getcwd()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--mashine cpu", "unrecognized arguments: --mashine"),
        ("--machine 2x Tesla K40c", 'put text with spaces in quotes: --machine "4x Tesla K20m"'),
        ("--machine '2x Nonsense'", "--machine: Unknown GPU model 'Nonsense'"),
        ("--release 1.3", "invalid choice: '1.3'"),
        ('--machine "2x', "No closing quotation"),
        ("--into 2x", "--into: '2x' is not the name of a variable"),
        ("--open nowhere", "There is no name scope 'nowhere'"),
    ],
)
def test_wrong_options(run, line, message):
    _, outputs, told = run(f"%%placement {line}\ntf.constant(1.0);")
    assert told.startswith("UsageError: ") and message in told and outputs == []


def test_the_line_magic(run, shell, tmp_path):
    shell.user_ns["g"] = graph = towers()
    _, (shown,), _ = run('%placement g -m "4x Tesla K20m" --no-log --into found')
    assert "MatMul_1  MatMul  /device:GPU:3  GPU:3" in shown["text/plain"]
    assert shell.user_ns["found"]["MatMul"].endswith("GPU:2")
    _, (again,), _ = run("%placement found --no-log")
    assert "MatMul_1  MatMul  /device:GPU:3  GPU:3" in again["text/plain"]
    tf.train.write_graph(graph, str(tmp_path), "g.pbtxt")
    _, (file,), _ = run(f"%placement {tmp_path}/g.pbtxt --soft -m cpu --no-picture")
    assert "soft placement" in file["text/plain"] and "6 device requests overridden" in file["text/plain"]
    assert "neither a file nor an expression" in run("%placement 1 +")[2]
    assert "'model.pb' is neither a file nor a valid expression" in run("%placement model.pb")[2]


def test_the_explorer_instead(run):
    _, (shown,), _ = run("%%placement -m 'Tesla K40c' --explore\ntf.constant(1.0);")
    assert "application/vnd.jupyter.widget-view+json" in shown


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("%%placement --mac", "--machine"),
        ("%%placement --release 1", "1.15"),
        ('%%placement -m "4x Tesla K2', 'K20m"'),
        ("%%placement --machine c", "cpu"),
        ("%%placement --soft ", "--visible-devices"),
        ("%placement gra", "graph_of_mine"),
    ],
)
def test_completion(shell, text, word):
    shell.user_ns["graph_of_mine"] = tf.Graph()
    assert word in shell.complete(None, text, len(text))[1]


def test_help(shell):
    text = shell.inspector.info(shell.find_cell_magic("placement"))["docstring"]
    assert "--machine" in text and "fresh default graph" in text


def test_unload(run, shell):
    shell.run_line_magic("unload_ext", "gpuplace")
    assert "not found" in run("%%placement\n1")[2]


def test_parts_of_a_model(run, shell, tmp_path):
    path = folder(tmp_path / "net", saved_model("serving_default", "a"))

    def placed(words=""):
        _, (shown,), _ = run(f"%placement {path} -m 'Tesla K40c' --into found {words}")
        told = shell.user_ns["found"].graph.part
        assert told in shown["text/html"] and told in shown["text/plain"]
        return told, set(shell.user_ns["found"])

    told, nodes = placed()
    assert (
        told == "signature serving_default of saved_model.pb, tags serve; 1 other" and "call/twice" in nodes
    )
    assert "saver" in placed("--signature ''")[1]
    assert placed("--signature a --tags serve --clear-devices")[0].startswith("signature a of")
    assert "sum_RetVal" in placed("--function add")[1]
    assert "tags select a MetaGraphDef" in run("%placement tf.GraphDef() --tags serve")[2]
    assert "this is a Graph" in run("%placement tf.Graph() --signature a")[2]
