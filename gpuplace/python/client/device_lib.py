"""TensorFlow's path to `gpuplace.runtime.device_lib`."""

from gpuplace.runtime.device_lib import *
