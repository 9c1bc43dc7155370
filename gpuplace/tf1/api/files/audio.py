"""``tf.audio``: audio files.

Source: tensorflow/_api/v1/audio, release 1.15 (names).
"""

from gpuplace.tf1.input.audio import decode_wav, encode_wav

__all__ = ["decode_wav", "encode_wav"]
