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
    app,
    bitwise,
    compat,
    flags,
    linalg,
    logging,
    manip,
    math,
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
from gpuplace.ops import initializers, layers, losses, nn
from gpuplace.ops.array import *
from gpuplace.ops.cast import *
from gpuplace.ops.check_ops import *
from gpuplace.ops.clip_ops import *
from gpuplace.ops.comparison import *
from gpuplace.ops.conditionals import *
from gpuplace.ops.confusion_matrix import *
from gpuplace.ops.constant import *
from gpuplace.ops.contraction import *
from gpuplace.ops.control import *
from gpuplace.ops.elementwise import *
from gpuplace.ops.gather import *
from gpuplace.ops.gradients import *
from gpuplace.ops.higher_order import *
from gpuplace.ops.indexed_slices import *
from gpuplace.ops.init_ops import *
from gpuplace.ops.joining import *
from gpuplace.ops.linalg import *
from gpuplace.ops.matrix import *
from gpuplace.ops.padding import *
from gpuplace.ops.random import *
from gpuplace.ops.rearranging import *
from gpuplace.ops.reduction import *
from gpuplace.ops.resource_variables import *
from gpuplace.ops.segments import *
from gpuplace.ops.sequence import *
from gpuplace.ops.slicing import *
from gpuplace.ops.special import *
from gpuplace.ops.state import *
from gpuplace.ops.strings import *
from gpuplace.ops.template import *
from gpuplace.ops.tensor_arrays import *
from gpuplace.ops.text import decode_base64, decode_raw, encode_base64, regex_replace
from gpuplace.ops.unary import *
from gpuplace.ops.variable_initialization import *
from gpuplace.ops.variable_scope import *
from gpuplace.ops.variables import *
from gpuplace.ops.while_loops import *
from gpuplace.release import get_release, set_release
from gpuplace.runtime.place import place
from gpuplace.runtime.process_state import reset_runtime, use_machine
from gpuplace.runtime.session import InteractiveSession, Session
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
