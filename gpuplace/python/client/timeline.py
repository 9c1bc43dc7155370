"""TensorFlow's path to `gpuplace.runtime.timeline`.

>>> from gpuplace.python.client import timeline
>>> timeline.Timeline.__module__
'gpuplace.runtime.timeline'
"""

from gpuplace.runtime.timeline import *
