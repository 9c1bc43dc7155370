"""TensorFlow's paths to what has no public name: ``gpuplace.python.client.timeline`` and the like."""
