"""TensorFlow's path to `gpuplace.runtime.session.device_lib`."""

from gpuplace.runtime.session.device_lib import *
