"""``tensorflow.python.saved_model.model_utils.mode_keys``: names of modes in Keras and in estimators.

Source: tensorflow/python/saved_model/model_utils/mode_keys.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuplace.tf1.training.estimator.spec import ModeKeys as EstimatorModeKeys


class KerasModeKeys:
    """Keras's names of modes."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"


def is_predict(mode: Any) -> bool:
    """Return whether a mode is prediction.

    Args:
        mode: Keras's or an estimator's name of the mode.
    """
    return mode in (KerasModeKeys.PREDICT, EstimatorModeKeys.PREDICT)


def is_eval(mode: Any) -> bool:
    """Return whether a mode is evaluation.

    Args:
        mode: Keras's or an estimator's name of the mode.
    """
    return mode in (KerasModeKeys.TEST, EstimatorModeKeys.EVAL)


def is_train(mode: Any) -> bool:
    """Return whether a mode is training.

    Args:
        mode: Keras's or an estimator's name of the mode.
    """
    return mode in (KerasModeKeys.TRAIN, EstimatorModeKeys.TRAIN)


class ModeKeyMap(Mapping[str, Any]):
    """A value for each mode, by Keras's and estimators' names.

    >>> tags = ModeKeyMap(predict="serve", train="train")
    >>> tags["infer"], list(tags)
    ('serve', ['predict', 'train'])

    Args:
        **kwargs: the values by mode.

    Raises:
        ValueError: a mode has two values, or a name is not a mode.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._keys = list(kwargs)
        self._values: dict[str, Any] = {}
        for key, value in kwargs.items():
            mode = self._mode(key)
            if mode in self._values:
                raise ValueError(f"Error creating ModeKeyMap. Multiple keys/values found for {mode} mode.")
            self._values[mode] = value

    @staticmethod
    def _mode(key: Any) -> str:
        kinds = (
            (is_train, KerasModeKeys.TRAIN),
            (is_eval, KerasModeKeys.TEST),
            (is_predict, KerasModeKeys.PREDICT),
        )
        for is_kind, mode in kinds:
            if is_kind(key):
                return mode
        raise ValueError(f"Invalid mode key: {key}.")

    def __getitem__(self, key: str) -> Any:
        return self._values[self._mode(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
