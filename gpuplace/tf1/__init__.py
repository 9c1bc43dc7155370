"""The TensorFlow 1 library beyond ordinary models, and the stand-in for the ``tensorflow`` package.

Nothing else imports it: the public names of ``gpuplace`` load it on first use, ``gpuplace run`` installs the stand-in,
and `gpuplace.tf1.op_modules` lists the modules that register ops.
"""
