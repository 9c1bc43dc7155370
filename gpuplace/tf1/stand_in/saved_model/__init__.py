"""Modules of ``tensorflow.python.saved_model`` that programs import, where there is no other module for them."""
