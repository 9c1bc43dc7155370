"""``tf.saved_model.tag_constants``: tags of the graphs in a SavedModel.

Source: tensorflow/python/saved_model/tag_constants.py, release 1.15.
"""

__all__ = ["EVAL", "GPU", "SERVING", "TPU", "TRAINING"]

SERVING = "serve"
TRAINING = "train"
EVAL = "eval"
GPU = "gpu"
TPU = "tpu"
