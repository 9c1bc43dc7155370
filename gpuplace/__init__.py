"""gpuplace: see where every op of a dataflow graph runs, and why.

A TensorFlow-1-shaped runtime whose placer gives the answers of TensorFlow's own:

>>> import gpuplace as tf
>>> graph = tf.Graph()
>>> with graph.as_default(), tf.device("/gpu:1"):
...     x = tf.convert_to_tensor([1.0, 2.0], name="x")
>>> x.device
'/device:GPU:1'
"""

from gpuplace import dtypes, errors
from gpuplace.api import app, logging
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
from gpuplace.release import get_release, set_release
from gpuplace.runtime.process_state import reset_runtime, use_machine
from gpuplace.shapes import Dimension, TensorShape

__version__ = "0.1.0.dev0"
