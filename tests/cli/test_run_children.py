"""`gpuplace run`: what a script starts and imports finds gpuplace in TensorFlow's place too, and TensorBoard works."""

import json
import os
import sys

import pytest

from gpuplace.tf1.stand_in import names

RELEASES = {"1.0": ("1.0.1", 134), "1.4": ("1.4.1", 134), "1.15": ("1.15.5", 134), "2.21": ("2.21.0", 2474)}


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_children_of_multiprocessing(gpuplace, script, method):
    source = f"""
        import multiprocessing, os
        import tensorflow as tf

        def double(number):
            return tf.__name__, tf.__version__, float(tf.Session().run(tf.constant(number) * 2)), os.getpid()

        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(1) as pool:
                name, version, number, process = pool.map(double, [1.5])[0]
            print(name, version, number, process == os.getpid())
    """
    done = gpuplace("run", script(source), "--machine", "cpu", "--release", "1.4")
    assert done.stdout == "gpuplace 1.4.1 3.0 False\n", done.stderr


def test_children_of_subprocess(gpuplace, script, tmp_path):
    """Also one that cannot import gpuplace by itself, and one with modules of its own beside it."""
    script("import tensorflow.compat.v1 as tf\nprint(tf.constant(1).name)", "below/child.py")
    source = """
        import os, subprocess, sys
        code = "import tensorflow as tf; print(tf.__name__, tf.__version__)"
        bare = {"PYTHONPATH": os.environ["PYTHONPATH"].split(os.pathsep)[0]}
        for words, environment in (["-c", code], None), (["-c", code], bare), (["below/child.py"], None):
            subprocess.run([sys.executable, *words], check=True, env=environment, cwd=os.path.dirname(__file__))
    """
    done = gpuplace("run", script(source), "--machine", "cpu")
    assert done.stdout.splitlines() == ["gpuplace 1.15.5"] * 2 + ["Const:0"], done.stderr


def test_tensorboard(gpuplace, script):
    """In the script, in a child that has TensorFlow or not yet, and as a program."""
    source = """
        import json, subprocess, sys
        import tensorflow as tf
        tf.constant(1.0)
        with tf.summary.FileWriter("logs", tf.get_default_graph()) as writer:
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=2)]), 3)
        code = '''
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        events = EventAccumulator("logs").Reload()
        from tensorboard.compat import tf
        print(events.Tags()["scalars"], events.Tags()["graph"], events.Scalars("loss")[0].step, tf.__name__)
        '''
        code = "\\n".join(line.strip() for line in code.splitlines())
        exec(code)
        subprocess.run([sys.executable, "-c", code + "\\nimport tensorflow"], check=True)
        subprocess.run([sys.executable, "-c", "import tensorflow\\n" + code], check=True)
        found = subprocess.run([sys.executable, "-m", "tensorboard.main", "--inspect", "--logdir", "logs"],
                               check=True, capture_output=True, text=True)
        print("loss" in found.stdout)
    """
    done = gpuplace("run", script(source), "--machine", "cpu")
    line = "['loss'] True 3 tensorboard.compat.tensorflow_stub"
    sys.stderr.write(done.stderr)
    assert done.stdout.splitlines() == [line] * 3 + ["True"]


def test_modules_below_a_folder_of_that_name(gpuplace, script, tmp_path):
    for name in ("examples/tutorials/mnist/input_data", "own", "python/own", "train/own", "constant"):
        path = tmp_path / "tensorflow" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"import tensorflow as tf\nNAME = '{name}', tf.__name__")
    source = """
        import tensorflow as tf
        from tensorflow.examples.tutorials.mnist import input_data
        import tensorflow.own, tensorflow.python.own
        import tensorflow.train.own as own
        print(input_data.NAME, tensorflow.own.NAME, tensorflow.python.own.NAME, own.NAME, callable(tf.constant))
        import tensorflow.nowhere
    """
    done = gpuplace("run", script(source))
    assert done.stdout == (
        "('examples/tutorials/mnist/input_data', 'gpuplace') ('own', 'gpuplace') ('python/own', 'gpuplace')"
        " ('train/own', 'gpuplace') True\n"
    ), done.stderr
    assert "No module named 'tensorflow.nowhere': gpuplace stands in for TensorFlow" in done.stderr


def test_an_installed_tensorflow_is_not_looked_into(gpuplace, script, tmp_path):
    (tmp_path / "lib" / "tensorflow" / "python").mkdir(parents=True)
    for name in ("__init__", "own", "python/__init__", "python/pywrap_tensorflow"):
        (tmp_path / "lib" / "tensorflow" / f"{name}.py").touch()
    path = os.pathsep.join([str(tmp_path / "lib"), os.environ.get("PYTHONPATH", "")])
    done = gpuplace("run", script("import tensorflow.own"), PYTHONPATH=path)
    assert "No module named 'tensorflow.own': gpuplace stands in" in done.stderr


@pytest.mark.parametrize("release", RELEASES)
def test_versions_are_those_of_the_release(gpuplace, script, release):
    source = """
        import json
        import tensorflow as tf
        v = tf.version
        numbers = [tf.__version__, tf.VERSION, tf.compat.v1.VERSION, v.VERSION]
        print(json.dumps([*numbers, v.GIT_VERSION, tf.__git_version__]))
        print(tf.GRAPH_DEF_VERSION, v.GRAPH_DEF_VERSION, tf.Graph().as_graph_def().versions.producer)
        print(tf.GRAPH_DEF_VERSION_MIN_CONSUMER, v.GRAPH_DEF_VERSION_MIN_PRODUCER)
        tf.set_release("2.21")
        print(tf.__version__, v.VERSION, tf.GRAPH_DEF_VERSION)
    """
    full, version = RELEASES[release]
    lines = gpuplace("run", script(source), "--release", release).stdout.splitlines()
    assert json.loads(lines[0]) == [full] * 4 + [f"v{full}"] * 2
    assert lines[1:] == [f"{version} {version} {version}", "0 0", "2.21.0 2.21.0 2474"]


def test_the_package_keeps_its_own_version():
    import gpuplace

    own, path, environment = gpuplace.__version__, list(sys.path), dict(os.environ)
    names.install()
    names.install()
    assert gpuplace.__version__ == gpuplace.VERSION == "1.15.5" != own
    names.uninstall()
    assert (gpuplace.__version__, sys.path, dict(os.environ)) == (own, path, environment)


def test_the_script_has_an_absolute_name(gpuplace, script, tmp_path):
    source = """
        import os, sys
        os.chdir("/")
        print(__file__)
        print(sys.argv[0])
        import tensorflow as tf
        tf.matmul(1.0, 2.0)
    """
    done = gpuplace("run", script(source, "below/main.py"))
    assert done.stdout.splitlines() == [str(tmp_path / "below" / "main.py"), "below/main.py"]
    assert f'File "{tmp_path}/below/main.py", line 7, in <module>\n    tf.matmul(1.0, 2.0)' in done.stderr
