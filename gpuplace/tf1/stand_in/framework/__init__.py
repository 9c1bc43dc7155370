"""Modules of ``tensorflow.python.framework`` that programs import, where there is no other module for them."""
