"""The protobuf edge: TensorFlow's messages, in and out.

Only this package imports protobuf. Nothing here is loaded before a message is needed.
"""
