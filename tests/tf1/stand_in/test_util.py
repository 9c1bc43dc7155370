"""Helpers in plain Python that programs import from ``tensorflow.python.util``; the answers are TensorFlow 1.15.5's."""

import functools

import pytest

from gpuplace.tf1.saving.tracking import identity as object_identity
from gpuplace.tf1.stand_in.util import (
    decorator_utils,
    function_utils,
    keyword_args,
    tf_contextlib,
    tf_decorator,
    tf_export,
    tf_inspect,
)


def scale(x, factor=2, *, offset=0):
    """Scales a number.

    More of it.
    """
    return x * factor + offset


def plus_one(function):
    def plus_one_of(*args, **kwargs):
        return plus_one_of.__wrapped__(*args, **kwargs) + 1

    return tf_decorator.make_decorator(function, plus_one_of)


def test_decorators_know_what_they_decorate():
    twice = plus_one(tf_decorator.TFDecorator("outer", scale, "says so"))
    decorators, target = tf_decorator.unwrap(twice)
    assert [one.decorator_name for one in decorators] == ["plus_one", "outer"]
    assert decorators[1].decorator_doc == "says so"
    assert target is scale and twice(3) == 7 and twice.__doc__ == scale.__doc__
    assert tf_inspect.getfullargspec(twice).args == ["x", "factor"]


def test_another_function_in_the_place_of_the_decorated_one():
    decorated = plus_one(plus_one(scale))
    tf_decorator.rewrap(decorated, scale, lambda x: -x)
    assert decorated(3) == -1
    tf_decorator.rewrap(decorated, "not there", scale)
    assert decorated(3) == 8
    tf_decorator.rewrap(decorated, decorated.__wrapped__, scale)
    assert decorated(3) == 7 and len(tf_decorator.unwrap(decorated)[0]) == 1


class Scaler:
    def __init__(self, factor, offset=1):
        self.factor, self.offset = factor, offset

    def __call__(self, x, y=3, **rest):
        return x

    @plus_one
    def of(self, x):
        """Of a number."""
        return x * self.factor


def test_decorated_methods():
    bound = Scaler(3).of
    assert bound(2) == 7 and bound.__name__ == "of" and bound.__doc__ == "Of a number."
    assert tf_decorator.unwrap(bound)[1](Scaler(4), 1) == 4


ARGUMENTS = [
    (scale, (["x", "factor"], None, None, (2,))),
    (functools.partial(scale, 1), (["factor"], None, None, (2,))),
    (functools.partial(scale, factor=3), (["x", "factor"], None, None, (3,))),
    (functools.partial(lambda a, *rest: a, 1, 2), ([], "rest", None, None)),
    (Scaler, (["self", "factor", "offset"], None, None, (1,))),
    (Scaler(1), (["self", "x", "y"], None, "rest", (3,))),
    (
        tf_decorator.TFDecorator("", scale, "", tf_inspect.ArgSpec(["z"], None, None, None)),
        (["z"], None, None, None),
    ),
]


@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_arguments_of_what_can_be_called(number):
    given, expected = ARGUMENTS[number]
    assert tuple(tf_inspect.getargspec(given)) == expected


def test_arguments_without_a_default_behind_those_with_one():
    with pytest.raises(ValueError, match=r"Some arguments \['factor'\] do not have default value"):
        tf_inspect.getargspec(functools.partial(lambda x, factor: x, x=3))


def test_arguments_of_a_call():
    assert tf_inspect.getcallargs(scale, 5, offset=1) == {"x": 5, "factor": 2, "offset": 1}
    scaler = Scaler(2)
    assert tf_inspect.getcallargs(scaler.of, 1) == {"self": scaler, "x": 1}


def test_names_of_arguments():
    assert function_utils.fn_args(functools.partial(functools.partial(scale, 1), offset=2)) == ("factor",)
    assert function_utils.fn_args(Scaler(1)) == ("x", "y")
    assert function_utils.has_kwargs(Scaler(1)) and not function_utils.has_kwargs(scale)
    with pytest.raises(TypeError, match="fn should be a function-like object"):
        function_utils.has_kwargs(3)


def test_names_and_code_of_functions():
    assert function_utils.get_func_name(Scaler(1).of) == "Scaler.of"
    assert function_utils.get_func_name(functools.partial(scale)) == "<class 'functools.partial'>"
    assert function_utils.get_func_code(plus_one(scale)) is scale.__code__
    assert function_utils.get_func_code(functools.partial(scale)) is None
    for ask in function_utils.get_func_name, function_utils.get_func_code:
        with pytest.raises(ValueError, match="Argument must be callable"):
            ask(None)


def test_a_warning_below_the_first_line():
    says = functools.partial(
        decorator_utils.add_notice_to_docstring,
        instructions="Do.", no_doc_str="None", suffix_str="(old)", notice=["Goes.", "Soon."],
    )  # fmt: skip
    assert says("Brief.\n\n    More.") == "Brief. (old)\n\nWarning: Goes.\nSoon.\nDo.\n\nMore."
    assert says("") == says(None) == "None\n\nWarning: Goes.\nSoon.\nDo."


def test_arguments_by_name_only():
    only = keyword_args.keyword_args_only(scale)
    assert only(x=2) == 4
    with pytest.raises(ValueError, match="Must use keyword args to call scale."):
        only(2)


def test_context_managers_tell_their_arguments():
    @tf_contextlib.contextmanager
    def block(a, b=2):
        yield a + b

    with block(1) as value:
        assert value == 3
    assert tf_inspect.getargspec(block).args == ["a", "b"]


def test_keys_by_identity():
    one, same = [1], [1]
    table = object_identity.ObjectIdentityDictionary([(one, "one")])
    table[same] = "same"
    assert len(table) == 2 and table[one] == "one" and [1] not in table
    both = object_identity.ObjectIdentitySet([one, same])
    assert list(both.difference([same])) == [one]
    with pytest.raises(TypeError):
        assert object_identity._ObjectIdentityWrapper(one) == one


def test_keys_that_are_not_kept():
    class Key:
        pass

    key = Key()
    weak = object_identity.ObjectIdentityWeakKeyDictionary()
    weak[key] = 1
    elements = object_identity.ObjectIdentityWeakSet([key])
    assert len(weak) == len(elements) == 1
    del key
    assert len(weak) == len(elements) == 0


def test_public_names():
    @tf_export.tf_export("a.scale", v1=["scale"])
    def exported(x):
        return x

    assert tf_export.get_v1_names(exported) == ["scale"] and tf_export.get_v2_names(exported) == ["a.scale"]
    with pytest.raises(tf_export.SymbolAlreadyExposedError):
        tf_export.tf_export("other")(exported)
    with pytest.raises(tf_export.InvalidSymbolNameError):
        tf_export.estimator_export("scale")
