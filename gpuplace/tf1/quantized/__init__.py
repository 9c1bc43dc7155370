"""Quantized numbers: ``tf.quantize`` and ops that compute with small integers."""
