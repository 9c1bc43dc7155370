"""``tf.graph_util``: parts of GraphDefs, loaded with protobuf when first used.

Source: tensorflow/_api/v1/graph_util, release 1.15 (names).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpuplace.api.graph_io import import_graph_def

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

if TYPE_CHECKING:
    from gpuplace.saving.graph_util import (
        convert_variables_to_constants,
        extract_sub_graph,
        must_run_on_cpu,
        remove_training_nodes,
        tensor_shape_from_node_def_name,
    )
else:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("gpuplace.saving.graph_util"), name)
