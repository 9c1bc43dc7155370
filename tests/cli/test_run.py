"""`gpuplace run`: TensorFlow 1 scripts, as Python would run them."""

import pytest

from gpuplace.cli.run_script import split_arguments

MATMUL = """
    import tensorflow as tf
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
    c = tf.matmul(a, b)
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    print(sess.run(c))
"""
DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.mark.parametrize("order", ["before", "behind"])
def test_the_guide_on_a_named_machine(gpuplace, script, order):
    words = [script(MATMUL)]
    option = ["--machine", "1x Tesla K40c"]
    result = gpuplace("run", *(option + words if order == "before" else words + option))
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "Device mapping:"
    assert f"{DEVICE} -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0" in lines[1]
    assert f"MatMul: (MatMul): {DEVICE}" in lines
    assert lines[-2:] == ["[[22. 28.]", " [49. 64.]]"]


def test_a_release_changes_the_words(gpuplace, script):
    result = gpuplace("run", "--release=1.0", "--machine=1x Tesla K40c", script(MATMUL))
    assert "MatMul: /job:localhost/replica:0/task:0/gpu:0" in result.stdout.splitlines()


def test_the_environment_names_the_machine(gpuplace, script):
    result = gpuplace("run", script(MATMUL), GPUPLACE_MACHINE="1x Tesla K40c")
    assert f"a: (Const): {DEVICE}" in result.stdout.splitlines()


def test_the_script_is_main_and_has_its_own_arguments(gpuplace, script):
    source = """
        import sys, os
        import helper
        assert __name__ == "__main__" and __spec__ is None
        print(sys.argv)
        print(os.path.basename(__file__), helper.NAME, sys.modules["__main__"].__file__ == __file__)
        print(sys.path[0] == os.path.dirname(os.path.abspath(__file__)))
    """
    script("NAME = 'beside'", "folder/helper.py")
    name = script(source, "folder/main.py")
    result = gpuplace("run", name, "--steps", "5", "--machine", "cpu", "x", "--", "--machine", "y")
    assert result.stdout.splitlines() == [
        "['folder/main.py', '--steps', '5', 'x', '--machine', 'y']",
        "main.py beside True",
        "True",
    ]


def test_modules_run_as_with_python_m(gpuplace, script):
    source = """
        import sys
        import tensorflow as tf
        from . import helper
        print(__name__, __package__, __spec__.name, helper.NAME, sys.argv[1:], tf.constant(1).dtype.name)
    """
    script(source, "folder/main.py")
    script("print(__name__, __package__)", "folder/__main__.py")
    script("NAME = 'beside'", "folder/helper.py")
    result = gpuplace("run", "--machine", "cpu", "-m", "folder.main", "x", "--release", "1.4", "-m", "y")
    assert result.stdout == "__main__ folder folder.main beside ['x', '-m', 'y'] int32\n", result.stderr
    assert gpuplace("run", "-m", "folder").stdout == "__main__ folder\n"
    script("import not_there", "other/__init__.py")
    missing = [gpuplace("run", "-m", name) for name in ("folder.nothing", "nothing.at_all", "other.main")]
    assert [one.returncode for one in missing] == [2, 2, 1]
    assert missing[0].stderr.splitlines()[-1] == "gpuplace run: No module named folder.nothing"
    assert "No module named 'not_there'" in missing[2].stderr


@pytest.mark.parametrize(
    ("source", "code"), [("import sys; sys.exit(7)", 7), ("raise SystemExit", 0), ("pass", 0), ("1/0", 1)]
)
def test_exit_codes(gpuplace, script, source, code):
    assert gpuplace("run", script(source), "--machine", "cpu").returncode == code


def test_a_traceback_shows_the_script_alone(gpuplace, script):
    result = gpuplace("run", script("def f():\n    return 1 / 0\n\nf()\n"))
    assert result.returncode == 1
    assert result.stderr.splitlines()[0] == "Traceback (most recent call last):"
    assert 'script.py", line 4, in <module>' in result.stderr.splitlines()[1]
    assert result.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "gpuplace" not in result.stderr


def test_a_refused_call_shows_the_lines_of_the_script(gpuplace, script):
    source = """
        import tensorflow as tf

        def weights():
            return tf.get_variable("w", [2])

        weights()
        weights()
    """
    result = gpuplace("run", script(source), "--machine", "cpu")
    error, made = result.stderr.split("ValueError: Variable w already exists, disallowed.")
    assert [line.split(", ")[1:] for line in error.splitlines() if "File" in line] == [
        ["line 8", "in <module>"],
        ["line 5", "in weights"],
    ]
    assert [line.split(", ")[1:] for line in made.splitlines() if "File" in line] == [
        ["line 5", "in weights"],
        ["line 7", "in <module>"],
    ]


def test_a_syntax_error_is_shown_as_python_shows_it(gpuplace, script):
    result = gpuplace("run", script("x = = 1\n"))
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("SyntaxError:")
    assert "run_script" not in result.stderr


def test_names_that_scripts_import(gpuplace, script):
    source = """
        import tensorflow as tf
        import tensorflow.compat.v1 as tf1
        from tensorflow.compat import v1
        from tensorflow.python.client import device_lib
        from tensorflow.python.framework import ops, errors, dtypes, tensor_shape
        from tensorflow.python.framework.errors_impl import InvalidArgumentError
        from tensorflow.core.framework import graph_pb2
        from tensorflow.core.protobuf import saved_model_pb2, saver_pb2
        from tensorflow.python import pywrap_tensorflow
        from tensorflow.python.framework import graph_util
        from tensorflow.python.saved_model import builder, loader, tag_constants
        from tensorflow.python.training import saver
        from google.protobuf import text_format
        import google.protobuf

        assert saver.Saver is tf.train.Saver and saver.latest_checkpoint is tf.train.latest_checkpoint
        assert saver_pb2.SaverDef is tf.train.SaverDef and tag_constants.SERVING == "serve"
        assert builder.SavedModelBuilder is tf.saved_model.Builder and loader.load is tf.saved_model.load
        assert saved_model_pb2.SavedModel().meta_graphs is not None
        assert pywrap_tensorflow.NewCheckpointReader is tf.train.NewCheckpointReader
        assert graph_util.extract_sub_graph is tf.graph_util.extract_sub_graph
        assert tf is tf1 is v1 is tf.compat.v1 and tf.compat.as_bytes('x') == b'x'
        tf1.disable_v2_behavior()
        assert errors.InvalidArgumentError is InvalidArgumentError is tf.errors.InvalidArgumentError
        assert graph_pb2.GraphDef is tf.GraphDef
        assert ops.Graph is tf.Graph and ops.get_default_graph is tf.get_default_graph
        assert dtypes.float32 is tf.float32 and tensor_shape.TensorShape is tf.TensorShape
        assert text_format.__file__.startswith(list(google.protobuf.__path__)[0])
        for device in device_lib.list_local_devices():
            print(device.name, device.device_type)
    """
    result = gpuplace("run", script(source), "--machine", "2x Tesla K40c")
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["/device:CPU:0 CPU", "/device:GPU:0 GPU", "/device:GPU:1 GPU"]


def test_names_of_numpy_1_are_there_for_a_script(gpuplace, script):
    path = script("""
        import numpy as np
        print(np.float is float, np.object is object, np.asscalar(np.array([3])), np.product([2, 3]), -np.NINF)
        print(np.reshape(np.arange(4), newshape=(2, -1), order="F").tolist(), np.reshape([1, 2], (2, 1)).shape)
        print(np.isnan(np.NaN), np.bool(1), np.in1d([1, 5], [5]).tolist(), np.int("7"))
    """)
    result = gpuplace("run", path)
    assert result.stdout.splitlines() == [
        "True True 3 6 inf",
        "[[0, 2], [1, 3]] (2, 1)",
        "True True [False, True] 7",
    ]


def test_a_script_that_imports_urllib_has_its_modules(gpuplace, script):
    result = gpuplace("run", script("import urllib, tensorflow; print(urllib.request.Request.__name__)"))
    assert (result.stdout, result.stderr) == ("Request\n", "")


@pytest.mark.parametrize(
    "statement", ["import tensorflow.contrib.nowhere", "from tensorflow.python.nowhere import x"]
)
def test_a_module_that_does_not_exist(gpuplace, script, statement):
    result = gpuplace("run", script(statement))
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: No module named 'tensorflow.")
    assert "gpuplace stands in for TensorFlow" in last


def test_a_placement_error_reaches_the_script(gpuplace, script):
    source = """
        import tensorflow as tf
        with tf.device('/device:GPU:3'):
            x = tf.constant(1.0)
        try:
            tf.Session().run(x)
        except tf.errors.InvalidArgumentError as error:
            print(error.message)
    """
    result = gpuplace("run", script(source), "--machine", "cpu")
    assert "was explicitly assigned to /device:GPU:3 but available devices are [ " in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "the following arguments are required: SCRIPT"),
        (["run", "--unknown", "x.py"], "unrecognized arguments: --unknown"),
        (["run", "x.py", "--release", "0.9"], "invalid choice: '0.9'"),
        (["run", "x.py", "--machine"], "argument --machine: expected one argument"),
        (["run", "x.py", "--machine", "3x Nothing"], "Nothing"),
    ],
)
def test_a_wrong_command_line(gpuplace, words, message):
    result = gpuplace(*words)
    assert result.returncode == 2
    assert message in result.stderr and "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_script_that_does_not_exist(gpuplace):
    result = gpuplace("run", "nowhere.py")
    assert result.returncode == 2
    assert result.stderr == "gpuplace run: cannot read nowhere.py: No such file or directory\n"


@pytest.mark.parametrize(
    ("words", "ours", "theirs"),
    [
        (["s.py"], ["s.py"], []),
        (["s.py", "-h"], ["s.py"], ["-h"]),
        (["-h", "s.py"], ["s.py", "-h"], []),
        (["--", "s.py", "--machine", "x"], ["s.py"], ["--machine", "x"]),
        (["s.py", "--machine=a", "b"], ["s.py", "--machine=a"], ["b"]),
        (["s.py", "--", "--", "b"], ["s.py"], ["--", "b"]),
    ],
)
def test_whose_argument_it_is(words, ours, theirs):
    assert split_arguments(words, ["--machine"]) == (ours, theirs)
