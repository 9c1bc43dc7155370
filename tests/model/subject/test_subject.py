"""What a step runs: signatures, training steps, outputs, and names for feeds and fetches."""

import pytest

import gpuplace as tf
from gpuplace.errors import InvalidArgumentError
from gpuplace.graphdef.messages import GraphDef, MetaGraphDef, SavedModel
from gpuplace.graphdef.model import Model
from gpuplace.model.subject.subject import subject_of, tensor_feeds


def network():
    """A dense layer with everything that people add to one."""
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, 8], name="images")
        weights = tf.get_variable("weights", [8, 4])
        logits = tf.matmul(images, weights, name="logits")
        tf.summary.histogram("logits_histogram", logits)
        tf.summary.merge_all()
        tf.global_variables_initializer()
        tf.train.Saver()
    return graph


def training():
    graph = network()
    with graph.as_default():
        loss = tf.reduce_mean(tf.square(graph.get_tensor_by_name("logits:0")), name="loss")
        step = tf.train.get_or_create_global_step()
        tf.train.AdamOptimizer().minimize(loss, step, name="minimize")
        tf.identity(loss, name="logged")
    return graph


def subject(graph, **options):
    placement = tf.place(graph, "1x V100")
    return subject_of(placement.graph, placement.placer.catalogue, **options)


def names(found):
    return {name for name, runs in zip(found.graph.names, found.runs.tolist(), strict=True) if runs}


def test_an_inference_graph_is_what_leads_to_its_outputs():
    found = subject(network())
    assert found.what == "Output 'logits'"
    assert names(found) == {"images", "weights", "weights/read", "logits"}
    assert set(found.outside) == {"saver", "initializers", "summaries"}
    assert found.outside_text.endswith(".") and "saver" in found.outside_text
    total = len(found.graph)
    assert found.text("1.15") == f"Output 'logits', 4 of {total} nodes, placed as TensorFlow 1.15"
    assert sum(found.outside.values()) == total - 4


def test_a_training_graph_is_one_step_of_its_training_operation():
    graph = training()
    found = subject(graph)
    assert found.what == "Training step 'minimize'"
    assert "logits" in names(found) and "logged" not in names(found)
    assert not any(name.startswith("save/") for name in names(found))
    assert found.outside["others"] == 4  # `logged`, the loss, which no gradient needs, and their constants
    # the same of a message, which keeps no collections
    assert names(subject(graph.as_graph_def())) == names(found)
    meta = MetaGraphDef(graph_def=graph.as_graph_def())
    meta.collection_def["train_op"].node_list.value.append("minimize")
    assert subject(meta).what == "Training step 'minimize'"


def test_a_loss_without_an_optimizer_is_an_output_though_it_is_summarised():
    with tf.Graph().as_default() as graph:
        loss = tf.reduce_mean(tf.placeholder(tf.float32, [None]), name="loss")
        tf.summary.scalar("loss_summary", loss)
    assert subject(graph).what == "Output 'loss'"


@pytest.mark.parametrize("build", [lambda: tf.constant(1.0, name="a"), lambda: tf.no_op(name="a")])
def test_a_graph_of_constants_or_bookkeeping_alone_runs_them(build):
    with tf.Graph().as_default() as graph:
        build()
    assert names(subject(graph)) == {"a"}


def test_an_initialiser_alone_is_the_step_of_its_graph():
    with tf.Graph().as_default() as graph:
        tf.get_variable("v", [2])
        tf.global_variables_initializer()
    assert "init" in names(subject(graph))


def test_the_whole_graph_runs_every_node():
    found = subject(training(), whole_graph=True)
    assert found.what == "Whole graph" and found.runs.all() and not found.outside and not found.outside_text


def test_fetches_override_the_default():
    graph = training()
    found = subject(graph, fetches=["logits", graph.get_operation_by_name("minimize")])
    assert found.what == "Fetches 'logits', 'minimize'"
    assert found.targets == (
        (found.graph.index["logits"], 0),
        (found.graph.index["minimize"], -1),
    )
    fed = subject(graph, fetches="loss", feeds=["logits:0"])
    assert "weights" not in names(fed) and "logits" in names(fed)


def saved_model():
    """A SavedModel with a signature whose names differ from its tensors', as TensorFlow 2 exports them."""
    message = SavedModel(saved_model_schema_version=1)
    meta = message.meta_graphs.add(graph_def=training().as_graph_def())
    meta.meta_info_def.tags.append("serve")
    meta.meta_info_def.tensorflow_version = "2.21.0"
    signature = meta.signature_def["serving_default"]
    signature.inputs["keras_tensor"].name = "images:0"
    signature.outputs["output_0"].name = "logits:0"
    return message


def test_a_saved_model_is_its_serving_signature_under_its_own_names(tmp_path):
    path = tmp_path / "net"
    path.mkdir()
    (path / "saved_model.pb").write_bytes(saved_model().SerializeToString())
    placement = tf.place(path, "1x V100")
    assert placement.release == "2.21"
    assert placement.subject.text("2.21") == (
        "Signature serving_default of net, 4 nodes, placed as TensorFlow 2.21"
    )
    assert placement.subject.targets == ((placement.graph.index["logits"], 0),)
    step = tf.estimate(path, "output_0", {"keras_tensor": (32, 8)}, machine="1x V100")
    assert str(step.shapes["logits"]) == "(32, 4)" and step.subject.what == "Fetch 'logits:0'"
    assert step.step_time == tf.estimate(path, machine="1x V100", batch=32).step_time
    assert tensor_feeds(placement.graph, {"keras_tensor": 1, "logits": 2}) == {"images:0": 1, "logits": 2}
    whole = tf.estimate(path, machine="1x V100", whole_graph=True)
    assert whole.subject.runs.all() and len(whole.placement) > 40


def test_unknown_names_list_those_there_are():
    placement = tf.place(saved_model(), "1x V100")
    with pytest.raises(InvalidArgumentError, match="not found") as caught:
        tf.estimate(placement, "output_1")
    assert caught.value.facts["outputs of the signature"] == "output_0"
    with pytest.raises(InvalidArgumentError, match="not found") as caught:
        tf.estimate(placement, feeds={"keras_tensors": (3, 8)})
    assert caught.value.facts["inputs of the signature"] == "keras_tensor"
    assert caught.value.facts["placeholders"] == "images" and "keras_tensor" in caught.value.hint
    with pytest.raises(InvalidArgumentError) as caught:
        tf.estimate(network(), "logit", machine="cpu")
    assert caught.value.facts["outputs of the graph"] == "logits" and "logits" in caught.value.hint


def test_an_input_of_several_tensors_is_fed_tensor_by_tensor():
    message = saved_model()
    sparse = message.meta_graphs[0].signature_def["serving_default"].inputs["words"].coo_sparse
    sparse.values_tensor_name, sparse.indices_tensor_name = "images:0", "weights/read:0"
    sparse.dense_shape_tensor_name = "logits:0"
    placement = tf.place(message, "1x V100")
    with pytest.raises(InvalidArgumentError, match="consists of 3 tensors"):
        tensor_feeds(placement.graph, {"words": (2, 8)})


def test_an_empty_graph_has_no_step():
    with pytest.raises(InvalidArgumentError, match="The graph has no nodes"):
        tf.estimate(GraphDef(), machine="cpu")


@pytest.mark.parametrize(
    ("producer", "release"), [(0, None), (27, "1.15"), (134, "1.15"), (135, "2.21"), (2474, "2.21")]
)
def test_the_release_follows_the_producer_of_a_graph_def(producer, release):
    message = network().as_graph_def()
    message.versions.producer = producer
    assert Model(message).release == release
    assert tf.place(message, "cpu").release == (release or "1.15")
    assert tf.place(message, "cpu", release="1.4").release == "1.4"
    tf.set_release("1.0")
    assert tf.place(message, "cpu").release == "1.0"


@pytest.mark.parametrize(("version", "release"), [("1.15.5", "1.15"), ("2.0.0", "2.21"), ("2.21.0", "2.21")])
def test_the_release_follows_the_version_of_a_saved_model(version, release):
    message = saved_model()
    message.meta_graphs[0].meta_info_def.tensorflow_version = version
    assert Model(message).release == release and tf.place(message, "cpu").release == release


@pytest.mark.parametrize(
    ("feeds", "batch", "message"),
    [
        ({}, 0, "at least 1 example"),
        ({}, -3, "at least 1 example"),
        ({"images": (4, 8), "weights/read": (8, 4)}, 2, "Cannot tell which dimension is the batch"),
    ],
)
def test_a_batch_that_cannot_be(feeds, batch, message):
    graph = network()
    if feeds:
        graph = graph.as_graph_def()
        node = next(node for node in graph.node if node.name == "images")
        node.attr["shape"].shape.dim[0].size = 4
        for made in graph.node:
            made.attr.pop("_output_shapes", None)
    with pytest.raises(InvalidArgumentError, match=message):
        tf.estimate(graph, feeds=feeds, machine="cpu", batch=batch)


def test_a_batch_of_a_graph_that_feeds_itself():
    with tf.Graph().as_default() as graph:
        tf.add(tf.constant([1.0, 2.0]), 1.0)
    with pytest.raises(InvalidArgumentError, match="no batch dimension"):
        tf.estimate(graph, machine="cpu", batch=8)
