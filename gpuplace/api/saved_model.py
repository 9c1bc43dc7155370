"""``tf.saved_model``: models with their signatures and variables, loaded with protobuf when first used.

Source: tensorflow/_api/v1/saved_model, release 1.15 (names).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpuplace.saving import saved_model_constants as constants
from gpuplace.saving import signature_constants, tag_constants
from gpuplace.saving.saved_model_constants import *

__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
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
    from gpuplace.saving import saved_model_builder as builder
    from gpuplace.saving import saved_model_loader as loader
    from gpuplace.saving import saved_model_loader as main_op
    from gpuplace.saving import signatures as signature_def_utils
    from gpuplace.saving import signatures as utils
    from gpuplace.saving.saved_model_builder import SavedModelBuilder as Builder
    from gpuplace.saving.saved_model_builder import simple_save
    from gpuplace.saving.saved_model_loader import load, main_op_with_restore, maybe_saved_model_directory
    from gpuplace.saving.saved_model_loader import maybe_saved_model_directory as contains_saved_model
    from gpuplace.saving.signatures import (
        build_signature_def,
        build_tensor_info,
        classification_signature_def,
        get_tensor_from_tensor_info,
        is_valid_signature,
        predict_signature_def,
        regression_signature_def,
    )
else:
    _MODULES = {
        "builder": "gpuplace.saving.saved_model_builder",
        "loader": "gpuplace.saving.saved_model_loader",
        "main_op": "gpuplace.saving.saved_model_loader",
        "signature_def_utils": "gpuplace.saving.signatures",
        "utils": "gpuplace.saving.signatures",
    }
    _RENAMED = {
        "Builder": ("builder", "SavedModelBuilder"),
        "contains_saved_model": ("loader", "maybe_saved_model_directory"),
        **{
            name: ("loader", name) for name in ("load", "main_op_with_restore", "maybe_saved_model_directory")
        },
        "simple_save": ("builder", "simple_save"),
    }

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in _MODULES:
            return import_module(_MODULES[name])
        module, attribute = _RENAMED.get(name, ("utils", name))
        return getattr(import_module(_MODULES[module]), attribute)
