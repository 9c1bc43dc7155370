"""Object-based checkpoints: ``tf.train.Checkpoint``.

``graph_view`` names the values of objects by the paths to them. ``device_saver`` has the operations that
write and read them. ``restoring`` matches a checkpoint's object graph with the program's, and ``status``
reports the result.
"""
