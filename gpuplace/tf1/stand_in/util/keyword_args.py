"""``tensorflow.python.util.keyword_args``: functions with keyword arguments only.

Source: tensorflow/python/util/keyword_args.py, release 1.15 (name, message).
"""

from __future__ import annotations

from typing import Any

from gpuplace.tf1.stand_in.util import decorator_utils, tf_decorator


def keyword_args_only(func: Any) -> Any:
    """Return a decorator for functions that accept only keyword arguments.

    Args:
        func: the function.

    Raises:
        ValueError: the decorated object is not callable, or a call has a positional argument.
    """
    decorator_utils.validate_callable(func, "keyword_args_only")

    def named_only(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    return tf_decorator.make_decorator(func, named_only, "keyword_args_only")
