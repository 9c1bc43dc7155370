"""The programs of the corpus by name: each builds one graph.

The modules beside this one add their functions with the decorators; `python -m tests.oracle.corpus` builds them.
"""

from __future__ import annotations

import functools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow

tf = tensorflow.compat.v1
PROGRAMS = {}
"""Name -> function that builds a graph in the default graph, or returns a SavedModel's folder."""
FUNCTION_PROGRAMS = {}
"""The same for graphs with functions that are called."""
EAGER_PROGRAMS = {}
"""The same for what only 2.x, with eager execution, can save."""


def program(function):
    """Adds a program under its function's name."""
    PROGRAMS[function.__name__] = function
    return function


def function_program(function):
    """Adds a program with functions."""
    FUNCTION_PROGRAMS[function.__name__] = function
    return function


def eager_program(function):
    """Adds a program that saves a model of 2.x."""
    EAGER_PROGRAMS[function.__name__] = function
    return function


def variants(**choices):
    """Adds a program once for each choice of its only argument, as ``name_choice``."""

    def add(function):
        ((argument, values),) = choices.items()
        for value in values:
            PROGRAMS["%s_%s" % (function.__name__, str(value).lower())] = functools.partial(
                function, **{argument: value}
            )
        return function

    return add
