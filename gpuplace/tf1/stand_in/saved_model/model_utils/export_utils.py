"""``tensorflow.python.saved_model.model_utils.export_utils``: outputs and folders of an export.

Source: tensorflow/python/saved_model/model_utils/export_utils.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import os
from typing import Any

from gpuplace.saving import signature_constants, tag_constants
from gpuplace.tf1.stand_in.saved_model.model_utils import mode_keys
from gpuplace.tf1.stand_in.saved_model.model_utils.mode_keys import ModeKeyMap
from gpuplace.tf1.training.estimator.export_outputs import (
    build_all_signature_defs as build_all_signature_defs,
)
from gpuplace.tf1.training.estimator.export_outputs import checked_export_outputs, timestamped_folder
from gpuplace.tf1.training.estimator.supervised_outputs import EvalOutput, TrainOutput

EXPORT_TAG_MAP = ModeKeyMap(
    predict=[tag_constants.SERVING], train=[tag_constants.TRAINING], test=[tag_constants.EVAL]
)
"""The tags of each mode's meta graph."""

SIGNATURE_KEY_MAP = ModeKeyMap(
    predict=signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    train=signature_constants.DEFAULT_TRAIN_SIGNATURE_DEF_KEY,
    test=signature_constants.DEFAULT_EVAL_SIGNATURE_DEF_KEY,
)
"""The name of each mode's signature."""

get_export_outputs = checked_export_outputs


def get_timestamped_export_dir(export_dir_base: str | bytes) -> bytes:
    """Return a new subfolder, named after the time in seconds.

    Args:
        export_dir_base: the parent folder.

    Raises:
        RuntimeError: ten such folders existed already.
    """
    return os.fsencode(timestamped_folder(export_dir_base))


def get_temp_export_dir(timestamped_export_dir: bytes) -> bytes:
    """Return the folder for an export until it is complete.

    >>> get_temp_export_dir(b"/models/1500000000")
    b'/models/temp-1500000000'

    Args:
        timestamped_export_dir: the final folder.
    """
    above, name = os.path.split(os.fsencode(timestamped_export_dir))
    return os.path.join(above, f"temp-{os.fsdecode(name)}".encode())


def export_outputs_for_mode(
    mode: str,
    serving_export_outputs: Any = None,
    predictions: Any = None,
    loss: Any = None,
    metrics: Any = None,
) -> dict[str, Any]:
    """Return the outputs of a model in a mode, by signature name.

    Args:
        mode: Keras's or an estimator's name of the mode.
        serving_export_outputs: dict from name to the outputs of the served model; None for the predictions.
        predictions: a tensor, or a dict from name to tensor.
        loss: a tensor, or a dict from name to tensor.
        metrics: a pair of a value and its update op, or a dict from name to such a pair.

    Raises:
        ValueError: there is no such mode.
        TypeError: ``serving_export_outputs`` is not such a dictionary.
    """
    if mode_keys.is_predict(mode):
        return get_export_outputs(serving_export_outputs, predictions)
    output = TrainOutput if mode_keys.is_train(mode) else EvalOutput
    return {SIGNATURE_KEY_MAP[mode]: output(loss=loss, predictions=predictions, metrics=metrics)}
