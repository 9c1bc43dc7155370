"""``tf.contrib.tensorboard.plugins.projector``: the embeddings that TensorBoard's projector shows.

Source: tensorflow/contrib/tensorboard/plugins/projector/__init__.py, release 1.15 (names).
"""

from gpuplace.graphdef.projector import EmbeddingInfo, ProjectorConfig, SpriteMetadata, visualize_embeddings

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]
