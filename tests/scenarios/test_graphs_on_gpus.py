"""Different graphs on different GPUs: two sessions in one process, and a written graph imported twice."""

import numpy as np

import gpuplace as tf

LOCAL = "/job:localhost/replica:0/task:0"


def test_two_graphs_in_two_sessions(run_program):
    run = run_program(
        """
        import numpy as np
        v = np.ones([100 , 1000, 1000])
        g1 = tf.Graph()
        g2 = tf.Graph()
        c = tf.ConfigProto()
        c.allow_soft_placement=True
        c.gpu_options.allow_growth=True
        with g1.as_default(), g1.device('/device:GPU:0'):
            a = tf.constant(v[:1])
        with g2.as_default(), g2.device('/device:GPU:1'):
            b = tf.constant(v[:1])
        sess1 = tf.Session(graph=g1, config=c)
        sess2 = tf.Session(graph=g2, config=c)
        """,
        "2x Tesla K40c",
    )
    names = run.names
    np.testing.assert_array_equal(names["sess1"].run(names["a"]), np.ones([1, 1000, 1000]))
    np.testing.assert_array_equal(names["sess2"].run(names["b"]), np.ones([1, 1000, 1000]))
    assert dict(names["sess1"].placement) == {"Const": f"{LOCAL}/device:GPU:0"}
    assert dict(names["sess2"].placement) == {"Const": f"{LOCAL}/device:GPU:1"}


def test_graph_device_scopes_nest(run_program):
    run = run_program(
        """
        g = tf.Graph()
        with g.as_default():
            with g.device('/device:GPU:0'):
                inside = tf.constant(1.0)
                with g.device(None):
                    outside = tf.constant(2.0)
        """,
        "1x Tesla K40c",
    )
    assert run.names["inside"].device == "/device:GPU:0"
    assert run.names["outside"].device == ""


WRITE_AND_IMPORT = """
    from google.protobuf import text_format

    hello = tf.constant('Hello, TensorFlow!')
    tf.train.write_graph(tf.get_default_graph(), folder, 'g1')

    with open(folder + '/g1', 'rb') as f:
      graph_text = f.read()
    print(graph_text)
    print('-' * 100)

    graphs = []
    for g in range(2):
      graphs.append(tf.Graph())
      with graphs[g].as_default():
        graph_def = tf.GraphDef()
        text_format.Merge(graph_text, graph_def)
        with tf.device('/gpu:' + str(g)):
          tf.import_graph_def(graph_def, name='')
        print(tf.get_default_graph().as_graph_def())
        print('-' * 100)
"""


def test_write_graph_then_import_on_two_gpus(run_program, tmp_path):
    run = run_program(f"    folder = {str(tmp_path)!r}\n" + WRITE_AND_IMPORT, "2x Tesla K40c")
    pieces = run.text.split("-" * 100)
    assert "Hello, TensorFlow!" in pieces[0]
    for index, graph in enumerate(run.names["graphs"]):
        assert f'device: "/device:GPU:{index}"' in pieces[index + 1]
        (operation,) = graph.get_operations()
        assert (operation.name, operation.type) == ("Const", "Const")
        assert operation.device == f"/device:GPU:{index}"


def test_the_imported_string_constant_runs_with_soft_placement(run_program, tmp_path):
    """A string constant has no GPU kernel: it runs where soft placement puts it, on the CPU."""
    run = run_program(f"    folder = {str(tmp_path)!r}\n" + WRITE_AND_IMPORT, "2x Tesla K40c")
    for graph in run.names["graphs"]:
        with tf.Session(graph=graph, config=tf.ConfigProto(allow_soft_placement=True)) as session:
            assert session.run("Const:0") == b"Hello, TensorFlow!"
            assert session.placement["Const"] == f"{LOCAL}/device:CPU:0"


def test_the_imported_string_constant_fails_without_it(run_program, tmp_path):
    run = run_program(f"    folder = {str(tmp_path)!r}\n" + WRITE_AND_IMPORT, "2x Tesla K40c")
    with tf.Session(graph=run.names["graphs"][0]) as session:
        try:
            session.run("Const:0")
        except tf.errors.InvalidArgumentError as error:
            assert "no supported kernel for GPU devices is available" in error.message
        else:
            raise AssertionError("a string constant ran on a GPU")
