"""Modules of ``tensorflow.python.summary`` that programs import, where there is no other module for them."""
