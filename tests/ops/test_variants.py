"""Functions that differ from another one in a default or in an argument that is fixed."""

import inspect
import pickle
from typing import Any

import pytest

import gpuplace as tf
from gpuplace.ops.variants import init_defaults, variant_of


def _joined(first: str, second: str = "b", *, between: str = "-", end: str = "") -> str:
    return f"{first}{between}{second}{end}"


@variant_of(_joined, between="+")
def added() -> None:
    """A sum."""


@variant_of(_joined, second="2", end="!")
def exclaimed() -> None:
    """An exclamation."""


def test_a_variant_has_its_own_name_docstring_and_signature():
    assert (added("a"), added("a", second="c"), exclaimed("1")) == ("a+b", "a+c", "1-2!")
    assert (added.__name__, added.__qualname__, added.__doc__) == ("added", "added", "A sum.")
    assert str(inspect.signature(added)) == "(first: str, second: str = 'b') -> str"
    assert str(inspect.signature(exclaimed)) == "(first: str, second: str = '2') -> str"
    assert (_joined("a"), _joined.__name__) == ("a-b", "_joined"), "what it is made of stays as it was"
    assert pickle.loads(pickle.dumps(added)) is added


def test_wrong_calls_name_the_variant():
    function: Any = added
    with pytest.raises(TypeError, match=r"^added\(\) missing 1 required positional argument: 'first'$"):
        function()
    with pytest.raises(
        TypeError, match=r"^added\(\) takes from 1 to 2 positional arguments but 3 were given$"
    ):
        function("a", "b", "c")


def test_an_argument_that_the_function_lacks_is_our_mistake():
    with pytest.raises(AssertionError, match="_joined has no defaults for middle"):
        variant_of(_joined, middle="?")(lambda: None)


class _Window:
    def __init__(self, size: int = 1, step: int = 1) -> None:
        self.sizes = size, step


@init_defaults(step=3)
class _Wide(_Window):
    """Another step."""


def test_a_class_has_the_inherited_init_with_its_own_defaults():
    assert (_Wide().sizes, _Wide(2, step=1).sizes, _Window().sizes) == ((1, 3), (2, 1), (1, 1))
    assert str(inspect.signature(_Wide)) == "(size: int = 1, step: int = 3) -> None"
    assert _Wide.__init__.__qualname__ == "_Wide.__init__"


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        (tf.reduce_max, (), r"reduce_max\(\) missing 1 required positional argument: 'input_tensor'"),
        (tf.assert_less, (1,), r"assert_less\(\) missing 1 required positional argument: 'y'"),
        (tf.scatter_sub, (1, 2), r"scatter_sub\(\) missing 1 required positional argument: 'updates'"),
        (
            tf.layers.Conv3D,
            (8,),
            r"Conv3D.__init__\(\) missing 1 required positional argument: 'kernel_size'",
        ),
    ],
)
def test_public_functions_of_families_say_their_own_names(function, arguments, error):
    with pytest.raises(TypeError, match=error):
        function(*arguments)
