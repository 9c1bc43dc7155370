"""gpuplace in place of TensorFlow, for scripts under ``gpuplace run`` and for the processes that they start."""
