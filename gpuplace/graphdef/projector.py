"""The configuration file of TensorBoard's embedding projector.

>>> config = ProjectorConfig()
>>> embedding = config.embeddings.add()
>>> embedding.tensor_name = "embedding:0"
>>> config
embeddings {
  tensor_name: "embedding:0"
}

Source: tensorflow/contrib/tensorboard/plugins/projector/__init__.py, release 1.15.
"""

from __future__ import annotations

import os
from typing import Any

from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig, SpriteMetadata

from gpuplace.files.file_system import with_op_errors
from gpuplace.graphdef.messages import text_format
from gpuplace.writing import write_file

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]

FILE_NAME = "projector_config.pbtxt"
"""File name, in the folder of the event files."""


def visualize_embeddings(summary_writer: Any, config: ProjectorConfig) -> None:
    """Write the projector configuration to the folder of a summary writer.

    Args:
        summary_writer: ``tf.summary.FileWriter``, or another object with ``get_logdir()``.
        config: the embeddings: tensor names, label files, checkpoint.

    Raises:
        ValueError: the writer has no folder.
        OpError: the file cannot be written.
    """
    logdir = summary_writer.get_logdir()
    if logdir is None:
        raise ValueError("Summary writer must have a logdir")
    path = os.path.join(os.fspath(logdir), FILE_NAME)
    with with_op_errors(path):
        write_file(path, text_format.MessageToString(config))
