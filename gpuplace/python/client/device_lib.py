"""TensorFlow's path to `gpuplace.session.device_lib`."""

from gpuplace.session.device_lib import *
