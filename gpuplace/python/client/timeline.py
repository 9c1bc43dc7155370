"""TensorFlow's path to `gpuplace.runtime.tracing.chrome_timeline`.

>>> from gpuplace.python.client import timeline
>>> timeline.Timeline.__module__
'gpuplace.runtime.tracing.chrome_timeline'
"""

from gpuplace.runtime.tracing.chrome_timeline import *
