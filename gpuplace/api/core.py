"""Graphs, ops and variables: names of ``gpuplace`` that load together, when one of them is first used.

The operators, conversions and gradients of a tensor need all common ops. Placing a graph from a file needs none of
them.
"""

from gpuplace.api import compat as compat
from gpuplace.api import nest as nest
from gpuplace.api import raw_ops as raw_ops
from gpuplace.api import version as version
from gpuplace.api.arithmetic import bitwise as bitwise
from gpuplace.api.arithmetic import manip as manip
from gpuplace.api.arithmetic import random as random
from gpuplace.api.behavior import *
from gpuplace.api.files.graph_io import import_graph_def as import_graph_def
from gpuplace.api.files.graph_io import make_ndarray as make_ndarray
from gpuplace.api.files.graph_io import make_tensor_proto as make_tensor_proto
from gpuplace.api.graph_functions import *
from gpuplace.api.nets import initializers as initializers
from gpuplace.graph.convert import convert_to_tensor as convert_to_tensor
from gpuplace.graph.convert import get_default_graph as get_default_graph
from gpuplace.graph.convert import name_scope as name_scope
from gpuplace.graph.convert import register_tensor_conversion_function as register_tensor_conversion_function
from gpuplace.graph.graph import Graph as Graph
from gpuplace.graph.graph_keys import GraphKeys as GraphKeys
from gpuplace.graph.operation import Operation as Operation
from gpuplace.graph.operation import Tensor as Tensor
from gpuplace.graph.stacks import get_default_session as get_default_session
from gpuplace.graph.stacks import reset_default_graph as reset_default_graph
from gpuplace.ops.array.batches import *
from gpuplace.ops.array.constant import *
from gpuplace.ops.array.distinct import *
from gpuplace.ops.array.gather import *
from gpuplace.ops.array.joining import *
from gpuplace.ops.array.padding import *
from gpuplace.ops.array.positions import *
from gpuplace.ops.array.rearranging import *
from gpuplace.ops.array.repeating import *
from gpuplace.ops.array.reshaping import *
from gpuplace.ops.array.running import *
from gpuplace.ops.array.sequence import *
from gpuplace.ops.array.slicing import *
from gpuplace.ops.array.sorting import *
from gpuplace.ops.flow.arrays.tensor_arrays import *
from gpuplace.ops.flow.assert_and_print import *
from gpuplace.ops.flow.case import *
from gpuplace.ops.flow.conditionals import *
from gpuplace.ops.flow.control import *
from gpuplace.ops.flow.higher_order import *
from gpuplace.ops.flow.python_functions import *
from gpuplace.ops.flow.while_loops import *
from gpuplace.ops.gradients.custom_gradient import *
from gpuplace.ops.gradients.gradients import *
from gpuplace.ops.gradients.indexed_slices import *
from gpuplace.ops.gradients.registry import NoGradient as NoGradient
from gpuplace.ops.gradients.registry import NotDifferentiable as NotDifferentiable
from gpuplace.ops.gradients.registry import RegisterGradient as RegisterGradient
from gpuplace.ops.gradients.registry import no_gradient as no_gradient
from gpuplace.ops.math.cast import *
from gpuplace.ops.math.check_ops import *
from gpuplace.ops.math.clip_ops import *
from gpuplace.ops.math.comparison import *
from gpuplace.ops.math.confusion_matrix import *
from gpuplace.ops.math.contraction import *
from gpuplace.ops.math.elementwise import *
from gpuplace.ops.math.factorization import *
from gpuplace.ops.math.linalg import *
from gpuplace.ops.math.matrix import *
from gpuplace.ops.math.reduction import *
from gpuplace.ops.math.segments import *
from gpuplace.ops.math.special import *
from gpuplace.ops.math.trigonometry import *
from gpuplace.ops.math.unary import *
from gpuplace.ops.random.random_ops import *
from gpuplace.ops.variables.init_ops import *
from gpuplace.ops.variables.initialization import *
from gpuplace.ops.variables.partitioned import *
from gpuplace.ops.variables.resource_variables import *
from gpuplace.ops.variables.scatter_nd import *
from gpuplace.ops.variables.state import *
from gpuplace.ops.variables.variable_scope import *
from gpuplace.ops.variables.variables import *
from gpuplace.tf_logging import get_logger as get_logger
