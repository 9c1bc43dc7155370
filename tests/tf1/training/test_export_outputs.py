"""What models give when they are served, trained and evaluated; the answers are those of TensorFlow 1.15.5."""

import pytest

import gpuplace as tf
from gpuplace.tf1.stand_in.names import resolve

PREDICT, TRAIN = "tensorflow/serving/predict", "tensorflow/supervised/training"
EVAL = "tensorflow/supervised/eval"


def module(name):
    return resolve(f"tensorflow.python.saved_model.model_utils.{name}")


def test_outputs_of_training_have_names_that_say_what_they_are():
    outputs, update = module("export_output"), tf.group(tf.no_op())
    made = outputs.TrainOutput(
        {"loss_a": tf.ones([]), ("head", "b"): tf.ones([])},
        tf.ones([2]),
        {"metrics/acc": (tf.ones([]), update)},
    )
    assert list(made.loss) == ["loss_a", "loss/head/b"] and list(made.predictions) == ["predictions"]
    assert list(made.metrics) == ["metrics/acc/value", "metrics/acc/update_op"]
    kept = made.metrics["metrics/acc/update_op"]
    assert kept.name == "metric_op_wrapper:0" and kept.op.control_inputs == [update]
    signature = made.as_signature_def({"x": tf.placeholder(tf.float32)})
    assert signature.method_name == TRAIN and len(signature.outputs) == 5
    assert outputs.EvalOutput(tf.ones([])).as_signature_def({"x": tf.ones([])}).method_name == EVAL
    nothing = outputs.EvalOutput()
    assert nothing.loss is nothing.predictions is nothing.metrics is None


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda outputs: outputs.PredictOutput({1: tf.ones([])}),
            "Prediction output key must be a string; got 1",
        ),
        (lambda outputs: outputs.TrainOutput(loss=3), "loss output value must be a Tensor; got 3"),
        (
            lambda outputs: outputs.TrainOutput(predictions={"a": 3}),
            "predictions output value must be a Tensor",
        ),
        (
            lambda outputs: outputs.TrainOutput(metrics=(3, tf.no_op())),
            "metrics output value must be a Tensor; got 3",
        ),
        (
            lambda outputs: outputs.TrainOutput(metrics={"a": (tf.ones([]), 3)}),
            "metrics/a update_op must be a Tensor",
        ),
    ],
)
def test_what_is_no_output(make, message):
    with pytest.raises(ValueError, match=message):
        make(module("export_output"))


def test_signatures_of_inputs_and_their_alternatives(caplog):
    examples, scores = tf.placeholder(tf.string, [None], name="examples"), tf.ones([2, 3])
    outputs = {
        "head": module("export_output").ClassificationOutput(scores=scores),
        None: module("export_output").PredictOutput(scores),
    }
    build = module("export_utils").build_all_signature_defs
    tf.logging.set_verbosity(tf.logging.INFO)
    with caplog.at_level("INFO", "tensorflow"):
        made = build(examples, outputs, {"parsed": {"a": tf.placeholder(tf.float32)}})
    assert sorted(made) == ["None", "head", "parsed:None"] and list(made["None"].inputs) == ["input"]
    said = [record.getMessage() for record in caplog.records]
    assert "Signatures INCLUDED in export for Classify: ['head']" in said
    assert "Signatures INCLUDED in export for Predict: ['None', 'parsed:None']" in said
    assert any("'parsed:head' : Classification input must be a single string Tensor" in line for line in said)
    assert said[-1] == "Export includes no default signature!"
    with pytest.raises(ValueError, match="export_outputs must be a dict and not"):
        build(examples, None)


def test_signatures_that_cannot_be_served():
    outputs = {"train": module("export_output").TrainOutput(loss=tf.ones([]))}
    build = module("export_utils").build_all_signature_defs
    assert build(tf.ones([]), outputs) == {} and list(build(tf.ones([]), outputs, serving_only=False)) == [
        "train"
    ]


def test_outputs_of_modes():
    utils, keys = module("export_utils"), module("mode_keys")
    found = utils.export_outputs_for_mode
    assert [
        list(found(mode, predictions=tf.ones([]), loss=tf.ones([]))) for mode in ("infer", "train", "test")
    ] == [
        ["serving_default"],
        ["train"],
        ["eval"],
    ]
    assert (utils.EXPORT_TAG_MAP["eval"], utils.SIGNATURE_KEY_MAP["predict"]) == (["eval"], "serving_default")
    with pytest.raises(ValueError, match="Multiple keys/values found for predict mode"):
        keys.ModeKeyMap(predict=1, infer=2)
    with pytest.raises(ValueError, match="Invalid mode key: serve"):
        utils.SIGNATURE_KEY_MAP["serve"]


def test_folders_of_exports(tmp_path):
    utils = module("export_utils")
    folder = utils.get_timestamped_export_dir(str(tmp_path))
    assert isinstance(folder, bytes) and folder.rpartition(b"/")[2].isdigit()
    assert utils.get_temp_export_dir(folder).rpartition(b"/")[2] == b"temp-" + folder.rpartition(b"/")[2]


def test_messages_of_tensors_and_operations():
    utils = tf.saved_model.utils
    inner = resolve("tensorflow.python.saved_model.utils")
    sparse = tf.sparse_placeholder(tf.float32, [2, 3], name="s")
    again = utils.get_tensor_from_tensor_info(utils.build_tensor_info(sparse))
    assert [one.name for one in (again.indices, again.values, again.dense_shape)] == [
        *(sparse.indices.name, sparse.values.name, sparse.dense_shape.name),
    ]
    made = inner.build_tensor_info_from_op(sparse.values.op)
    assert made.name == "s/values" and made.tensor_shape.unknown_rank
    assert inner.get_element_from_tensor_info(made) is sparse.values.op
    variable, resource = tf.Variable(1), tf.Variable(1, use_resource=True)
    assert [utils.build_tensor_info(one).dtype for one in (variable, resource)] == [103, 3]
    with pytest.raises(ValueError, match="Invalid TensorInfo.encoding: None"):
        utils.get_tensor_from_tensor_info(tf.TensorInfo())
