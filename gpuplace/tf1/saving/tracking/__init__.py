"""Checkpoints of objects: ``tf.train.Checkpoint``.

``graph_view`` names the values of objects by the paths to them, ``device_saver`` has the operations that write and read
them, ``restoring`` follows a checkpoint's graph of objects along the program's, and ``status`` says what came of it.
"""
