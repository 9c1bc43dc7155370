"""What a program sees of an error or a warning: its own lines and the sentence, and nothing of the package between."""

import os
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace import callers

PROGRAM = """
import gpuplace as tf

def ask():
    with tf.device("/gpu:3"):
        return tf.constant([1.0, 2.0], name="a")

tf.use_machine("1x Tesla K40c")
a = ask()
"""
FAILING = {
    "run": "tf.Session().run(a)",
    "run again": """
s = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
x = tf.placeholder(tf.float32)
y = tf.add(a, x)
s.run(y, {x: [1.0, 2.0]})
s.run(y, {x: [1.0, 2.0, 3.0]})
""",
    "traced": "tf.Session().run(a, run_metadata=tf.RunMetadata())",
    "callable": "tf.Session().make_callable(a)()",
    "callable with feeds": """
x = tf.placeholder(tf.float32)
tf.Session().make_callable(tf.add(a, x), [x])(1.0)
""",
    "partial run": """
s = tf.Session()
s.partial_run(s.partial_run_setup([a], []), a)
""",
    "placement": "tf.Session().placement",
    "eval": """
with tf.Session():
    a.eval()
""",
    "interactive": """
tf.InteractiveSession()
a.eval()
""",
    "place": "tf.place(tf.get_default_graph())",
    "place a file": "tf.place('none.pb')",
    "explore": "tf.explore('none.log')",
    "session": "tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list='7')))",
    "import": "tf.import_graph_def(tf.GraphDef(node=[dict(name='n', op='MatMull')]))",
    "conflict": """
tf.reset_default_graph()
with tf.device("/cpu:0"):
    b = tf.constant([1.0], name="b")
with tf.colocate_with(b.op), tf.device("/gpu:0"):
    c = tf.constant([1.0], name="c")
tf.Session().run(c)
""",
}


def run(tmp_path: Path, text: str) -> tuple[subprocess.CompletedProcess, Path]:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + text)
    environ = {name: value for name, value in os.environ.items() if name != callers.ENVIRONMENT_VARIABLE}
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environ), path


def files_of(error: BaseException) -> set[str]:
    return {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


@pytest.mark.parametrize("text", FAILING.values(), ids=FAILING.keys())
def test_an_error_shows_the_program_and_the_sentence(tmp_path, monkeypatch, text):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + text)
    with pytest.raises(tf.errors.OpError) as caught:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    error = caught.value
    inside = {name for name in files_of(error) if callers.is_own(name)}
    # the method that the program calls may be in between, and no more than that
    assert len(inside) <= 1, "".join(traceback.format_exception(error))
    shown = "".join(traceback.format_exception(error))
    assert "direct cause" not in shown and "During handling" not in shown and "MergeConflict" not in shown
    assert "{{" not in str(error)


def test_the_message_comes_first_and_names_the_line_that_made_the_op(tmp_path):
    done, path = run(tmp_path, "tf.Session().run(a)\n")
    lines = done.stderr.splitlines()
    at = next(number for number, line in enumerate(lines) if "InvalidArgumentError" in line)
    assert done.returncode == 1 and at <= 4
    assert f"node a (defined at {path}:6)" in lines[at]
    assert any(line.startswith("  requested by") and f"{path}:6" in line for line in lines)


def test_place_names_the_line_too(tmp_path):
    graph = tf.Graph()
    with graph.as_default(), tf.device("/gpu:3"):
        tf.constant(1.0, name="a")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.place(graph, machine="cpu")
    assert "{{node a}} was explicitly assigned to /device:GPU:3 but" in caught.value.message
    first = str(caught.value).splitlines()[0]
    assert (
        f"node a (defined at {__file__}:" in first
        and ") was explicitly assigned to /device:GPU:3 but" in first
    )


def test_a_graph_from_elsewhere_has_no_lines():
    message = tf.GraphDef(node=[{"name": "a", "op": "NoOp", "device": "/gpu:3"}])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.place(message, machine="cpu")
    assert "for operation a: node a was explicitly assigned to /gpu:3 but" in str(caught.value)


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_templates_are_resolved_in_what_is_shown(release):
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/cpu:0"):
            b = tf.constant([1.0], name="b")
        with warnings.catch_warnings(), tf.colocate_with(b.op), tf.device("/gpu:0"):
            warnings.simplefilter("ignore")
            tf.constant([1.0], name="c")
    found = tf.place(graph, machine="1x Tesla K40c", release=release, on_error="keep")
    (error,) = found.errors[:1]
    assert "{{colocation_node c}} and {{colocation_node b}}" in error.message
    assert "{{" not in str(error) and "Cannot colocate nodes node c (defined at " in str(error)
    assert "{{" not in error._repr_mimebundle_()["text/html"]
    assert "{{" not in str(found.explain("c"))


def test_functions_keep_their_names_without_the_template():
    error = tf.errors.UnimplementedError(
        None, None, "{{node a}}calls {{function_node f}} {{node b}} [[{{node b}}]]"
    )
    error.made_at["a"] = "x.py:1"
    assert str(error) == "node a (defined at x.py:1) calls f node b [[node b]]"


def test_a_function_of_the_program_stays_in_sight():
    def mine(x):
        raise KeyError("mine")

    y = tf.py_func(mine, [tf.constant(1.0)], tf.float32)
    with pytest.raises(tf.errors.UnknownError) as caught:  # as TensorFlow calls a KeyError
        tf.Session().run(y)
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError)
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)] == ["mine"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.add(tf.constant(1.0), tf.constant(1)),
        lambda: tf.concat([tf.constant([1.0]), tf.constant([1])], 0),
        lambda: tf.constant(1.0) + "x",
    ],
)
def test_a_wrong_call_has_no_chain(call):
    with pytest.raises(TypeError) as caught:
        call()
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize("run", [lambda s: s.run("none:0"), lambda s: s.run([], {"none:0": 1})])
def test_wrong_fetches_and_feeds_show_two_frames_at_most(run):
    tf.constant(1.0)
    with pytest.raises((TypeError, ValueError)) as caught:
        run(tf.Session())
    own = [one for one in traceback.extract_tb(caught.value.__traceback__) if callers.is_own(one.filename)]
    assert len(own) <= 2


def test_full_tracebacks_on_demand(monkeypatch):
    monkeypatch.setenv(callers.ENVIRONMENT_VARIABLE, "1")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.place(tf.GraphDef(node=[{"name": "a", "op": "NoOp", "device": "/gpu:3"}]), machine="cpu")
    assert any(name.endswith("place.py") for name in files_of(caught.value))


def test_warnings_name_the_line_of_the_program():
    graph = tf.get_default_graph()
    with tf.device("/cpu:0"):
        b = tf.constant([1.0])
    tf.use_machine("2x Tesla K40c")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with tf.colocate_with(b.op), tf.device("/cpu:1"):
            tf.add(tf.Variable(1.0), [2.0])
        first, second = tf.InteractiveSession(graph=graph), tf.InteractiveSession(graph=graph)
        options = tf.GPUOptions(per_process_gpu_memory_fraction=0.25)
        third = tf.Session(config=tf.ConfigProto(gpu_options=options))
    assert len(found) > 3 and {one.filename for one in found} == {__file__}
    for session in (third, second, first):
        session.close()
