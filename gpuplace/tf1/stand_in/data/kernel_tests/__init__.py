"""Modules of ``tensorflow.python.data.kernel_tests`` that programs import, where there is no other module for them."""
