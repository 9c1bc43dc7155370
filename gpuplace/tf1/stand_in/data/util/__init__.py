"""Modules of ``tensorflow.python.data.util`` that programs import, where there is no other module for them."""
