"""``tensorflow.python.util.keyword_args``: functions that are called with names of arguments only.

Source: tensorflow/python/util/keyword_args.py, release 1.15 (name, sentence).
"""

from __future__ import annotations

from typing import Any

from gpuplace.tf1.stand_in.util import decorator_utils, tf_decorator


def keyword_args_only(func: Any) -> Any:
    """A decorator of functions of which every argument has to be named.

    Args:
        func: the function.

    Raises:
        ValueError: what is decorated cannot be called; in a call, an argument without a name.
    """
    decorator_utils.validate_callable(func, "keyword_args_only")

    def named_only(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    return tf_decorator.make_decorator(func, named_only, "keyword_args_only")
