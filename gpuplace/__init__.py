"""gpuplace: see where every op of a dataflow graph runs, and why.

A TensorFlow-1-shaped runtime whose placer gives the answers of TensorFlow's own:

>>> import gpuplace as tf
>>> graph = tf.Graph()
>>> with graph.as_default(), tf.device("/gpu:1"):
...     x = tf.constant([1.0, 2.0], name="x")
>>> tf.place(graph, machine="2x Tesla K40c")["x"]
'/job:localhost/replica:0/task:0/device:GPU:1'
"""

from gpuplace import dtypes, errors
from gpuplace.api import (
    bitwise,
    compat,
    initializers,
    linalg,
    logging,
    manip,
    math,
    nn,
    random,
    strings,
    summary,
    test,
    train,
)
from gpuplace.api.behavior import *
from gpuplace.api.graph_functions import *
from gpuplace.device.machine import Machine
from gpuplace.device.spec import DeviceSpec
from gpuplace.dtypes import *
from gpuplace.dtypes import DType, as_dtype
from gpuplace.errors import OpError
from gpuplace.graph.convert import (
    convert_to_tensor,
    get_default_graph,
    name_scope,
    register_tensor_conversion_function,
)
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.stacks import get_default_session, reset_default_graph
from gpuplace.memory.process_state import reset_runtime, use_machine
from gpuplace.ops import layers, losses
from gpuplace.ops.array.constant import *
from gpuplace.ops.array.gather import *
from gpuplace.ops.array.joining import *
from gpuplace.ops.array.padding import *
from gpuplace.ops.array.rearranging import *
from gpuplace.ops.array.reshaping import *
from gpuplace.ops.array.sequence import *
from gpuplace.ops.array.slicing import *
from gpuplace.ops.flow.assert_and_print import *
from gpuplace.ops.flow.case import *
from gpuplace.ops.flow.conditionals import *
from gpuplace.ops.flow.control import *
from gpuplace.ops.flow.higher_order import *
from gpuplace.ops.flow.python_functions import *
from gpuplace.ops.flow.tensor_arrays import *
from gpuplace.ops.flow.while_loops import *
from gpuplace.ops.gradients.gradients import *
from gpuplace.ops.gradients.indexed_slices import *
from gpuplace.ops.math.cast import *
from gpuplace.ops.math.check_ops import *
from gpuplace.ops.math.clip_ops import *
from gpuplace.ops.math.comparison import *
from gpuplace.ops.math.confusion_matrix import *
from gpuplace.ops.math.contraction import *
from gpuplace.ops.math.elementwise import *
from gpuplace.ops.math.linalg import *
from gpuplace.ops.math.matrix import *
from gpuplace.ops.math.reduction import *
from gpuplace.ops.math.segments import *
from gpuplace.ops.math.special import *
from gpuplace.ops.math.unary import *
from gpuplace.ops.random.random_ops import *
from gpuplace.ops.text.regex_and_encoding import decode_base64, decode_raw, encode_base64, regex_replace
from gpuplace.ops.text.strings import *
from gpuplace.ops.variables.init_ops import *
from gpuplace.ops.variables.initialization import *
from gpuplace.ops.variables.resource_variables import *
from gpuplace.ops.variables.state import *
from gpuplace.ops.variables.template import *
from gpuplace.ops.variables.variable_scope import *
from gpuplace.ops.variables.variables import *
from gpuplace.release import get_release, set_release
from gpuplace.session.place import place
from gpuplace.session.session import InteractiveSession, Session
from gpuplace.shapes import Dimension, TensorShape
from gpuplace.views import (
    attach,
    explore,
    import_graph_def,
    kernels,
    load_ipython_extension,
    make_ndarray,
    make_tensor_proto,
    parse_log,
    timeline,
    unload_ipython_extension,
)
from gpuplace.views import lazy_attribute as __getattr__

__version__ = "0.1.0.dev0"

attach()
