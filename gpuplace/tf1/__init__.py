"""The TensorFlow 1 library beyond ordinary nets, and the stand-in for the ``tensorflow`` package.

Nothing else imports it: the public names of ``gpuplace`` load it when they are first asked for, ``gpuplace run`` puts
the stand-in into place, and `gpuplace.tf1.op_modules` names the modules that register ops.
"""
