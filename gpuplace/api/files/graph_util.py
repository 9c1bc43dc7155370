"""``tf.graph_util``: parts of GraphDefs, loaded with protobuf when first used.

Source: tensorflow/_api/v1/graph_util, release 1.15 (names).
"""

from typing import TYPE_CHECKING

from gpuplace.api.files.graph_io import import_graph_def
from gpuplace.lazy import lazy_names

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

if TYPE_CHECKING:
    from gpuplace.tf1.saving.graph_util import (
        convert_variables_to_constants,
        extract_sub_graph,
        must_run_on_cpu,
        remove_training_nodes,
        tensor_shape_from_node_def_name,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "gpuplace.tf1.saving.graph_util": """
                convert_variables_to_constants extract_sub_graph must_run_on_cpu remove_training_nodes
                tensor_shape_from_node_def_name
            """
        },
    )
