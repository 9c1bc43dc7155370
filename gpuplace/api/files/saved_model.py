"""``tf.saved_model``: models with their signatures and variables, loaded with protobuf when first used.

Source: tensorflow/_api/v1/saved_model, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names
from gpuplace.saving import saved_model_constants as constants
from gpuplace.saving import signature_constants, tag_constants
from gpuplace.saving.saved_model_constants import *
from gpuplace.saving.signature_constants import *
from gpuplace.saving.tag_constants import GPU, SERVING, TPU, TRAINING

__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "GPU",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "TPU",
    "TRAINING",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "Builder",
    "build_signature_def",
    "build_tensor_info",
    "builder",
    "classification_signature_def",
    "constants",
    "contains_saved_model",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "load",
    "loader",
    "main_op",
    "main_op_with_restore",
    "maybe_saved_model_directory",
    "predict_signature_def",
    "regression_signature_def",
    "signature_constants",
    "signature_def_utils",
    "simple_save",
    "tag_constants",
    "utils",
]

if TYPE_CHECKING:
    from gpuplace.tf1.saving import saved_model_builder as builder
    from gpuplace.tf1.saving import saved_model_loader as loader
    from gpuplace.tf1.saving import saved_model_loader as main_op
    from gpuplace.tf1.saving import signatures as signature_def_utils
    from gpuplace.tf1.saving import signatures as utils
    from gpuplace.tf1.saving.saved_model_builder import SavedModelBuilder as Builder
    from gpuplace.tf1.saving.saved_model_builder import simple_save
    from gpuplace.tf1.saving.saved_model_loader import load, main_op_with_restore, maybe_saved_model_directory
    from gpuplace.tf1.saving.saved_model_loader import maybe_saved_model_directory as contains_saved_model
    from gpuplace.tf1.saving.signatures import (
        build_signature_def,
        build_tensor_info,
        classification_signature_def,
        get_tensor_from_tensor_info,
        is_valid_signature,
        predict_signature_def,
        regression_signature_def,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "gpuplace.tf1.saving": """
                saved_model_builder as builder  saved_model_loader as loader  saved_model_loader as main_op
                signatures as signature_def_utils  signatures as utils
            """,
            "gpuplace.tf1.saving.saved_model_builder": "SavedModelBuilder as Builder  simple_save",
            "gpuplace.tf1.saving.saved_model_loader": """
                load main_op_with_restore maybe_saved_model_directory
                maybe_saved_model_directory as contains_saved_model
            """,
            "gpuplace.tf1.saving.signatures": """
                build_signature_def build_tensor_info classification_signature_def get_tensor_from_tensor_info
                is_valid_signature predict_signature_def regression_signature_def
            """,
        },
    )
