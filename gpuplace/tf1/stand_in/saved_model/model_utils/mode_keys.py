"""``tensorflow.python.saved_model.model_utils.mode_keys``: what a model is built for, as Keras and estimators call it.

Source: tensorflow/python/saved_model/model_utils/mode_keys.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuplace.tf1.training.estimator.spec import ModeKeys as EstimatorModeKeys


class KerasModeKeys:
    """Keras's names of what a model is built for."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"


def is_predict(mode: Any) -> bool:
    """Whether a mode is that of predicting.

    Args:
        mode: Keras's or an estimator's name of it.
    """
    return mode in (KerasModeKeys.PREDICT, EstimatorModeKeys.PREDICT)


def is_eval(mode: Any) -> bool:
    """Whether a mode is that of evaluating.

    Args:
        mode: Keras's or an estimator's name of it.
    """
    return mode in (KerasModeKeys.TEST, EstimatorModeKeys.EVAL)


def is_train(mode: Any) -> bool:
    """Whether a mode is that of training.

    Args:
        mode: Keras's or an estimator's name of it.
    """
    return mode in (KerasModeKeys.TRAIN, EstimatorModeKeys.TRAIN)


class ModeKeyMap(Mapping[str, Any]):
    """Something for each mode, by Keras's names and those of estimators.

    >>> tags = ModeKeyMap(predict="serve", train="train")
    >>> tags["infer"], list(tags)
    ('serve', ['predict', 'train'])

    Args:
        **kwargs: mode to value.

    Raises:
        ValueError: a mode has two values, or is none.
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
