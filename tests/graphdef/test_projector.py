"""The configuration of TensorBoard's projector."""

import subprocess
import sys

import pytest
from google.protobuf import text_format
from tensorboard.plugins.projector.metadata import PROJECTOR_FILENAME

import gpuplace as tf
from gpuplace.errors import NotFoundError

projector = tf.contrib.tensorboard.plugins.projector


@pytest.fixture
def config():
    made = projector.ProjectorConfig(model_checkpoint_path="model.ckpt")
    made.embeddings.add(tensor_name="embedding:0", metadata_path="labels.tsv")
    made.embeddings[0].sprite.CopyFrom(
        projector.SpriteMetadata(image_path="images.png", single_image_dim=[28, 28])
    )
    return made


def test_the_configuration_lies_beside_the_summaries_and_is_read_by_tensorboard(tmp_path, config):
    with tf.Graph().as_default():
        with tf.summary.FileWriter(tmp_path / "logs") as writer:
            assert projector.visualize_embeddings(writer, config) is None
    text = (tmp_path / "logs" / PROJECTOR_FILENAME).read_text()
    assert text_format.Parse(text, projector.ProjectorConfig()) == config
    assert 'tensor_name: "embedding:0"' in text


def test_a_writer_needs_a_folder_that_is_there(tmp_path, config):
    class Writer:
        def __init__(self, folder):
            self.folder = folder

        def get_logdir(self):
            return self.folder

    with pytest.raises(ValueError, match="Summary writer must have a logdir"):
        projector.visualize_embeddings(Writer(None), config)
    with pytest.raises(NotFoundError, match="no_folder"):
        projector.visualize_embeddings(Writer(tmp_path / "no_folder"), config)


def test_a_script_imports_it(tmp_path):

    path = tmp_path / "embed.py"
    path.write_text(
        "import tensorflow as tf\n"
        "from tensorflow.contrib.tensorboard.plugins import projector\n"
        "import tensorflow.contrib.tensorboard.plugins.projector as same\n"
        "from tensorflow.contrib.learn import ModeKeys\n"
        "print(projector is same, len(projector.ProjectorConfig().embeddings), ModeKeys.TRAIN)\n"
    )
    done = subprocess.run([sys.executable, "-m", "gpuplace", "run", path], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True 0 train\n", "")
