"""``tf.estimator``: models that train, evaluate, predict and export themselves.

Source: tensorflow_estimator/_api/v1/estimator, release 1.15.1 (names).
"""

from gpuplace.tf1.api.training import estimator_export as export
from gpuplace.tf1.training.estimator import inputs
from gpuplace.tf1.training.estimator.estimator import Estimator, WarmStartSettings
from gpuplace.tf1.training.estimator.run_config import RunConfig
from gpuplace.tf1.training.estimator.spec import EstimatorSpec, ModeKeys
from gpuplace.tf1.training.estimator.train_and_evaluate import (
    BestExporter,
    EvalSpec,
    Exporter,
    FinalExporter,
    LatestExporter,
    TrainSpec,
    train_and_evaluate,
)
from gpuplace.tf1.training.warm_start import VocabInfo

__all__ = [
    "BestExporter", "Estimator", "EstimatorSpec", "EvalSpec", "Exporter", "FinalExporter", "LatestExporter", "ModeKeys",
    "RunConfig", "TrainSpec", "VocabInfo", "WarmStartSettings", "export", "inputs", "train_and_evaluate",
]  # fmt: skip
