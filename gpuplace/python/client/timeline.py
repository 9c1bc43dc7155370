"""TensorFlow's path to `gpuplace.tracing.chrome_timeline`.

>>> from gpuplace.python.client import timeline
>>> timeline.Timeline.__module__
'gpuplace.tracing.chrome_timeline'
"""

from gpuplace.tracing.chrome_timeline import *
