"""The notation of op signatures, as the data files, tests and people write it."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplace import dtypes
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.op_notation import NO_DEFAULT, AttrDef, parse_arg, parse_attr, value_text
from gpuplace.shapes import TensorShape


@pytest.mark.parametrize(
    ("text", "kind", "default", "allowed", "minimum"),
    [
        ("T: type", "type", NO_DEFAULT, None, None),
        ("T:type=DT_FLOAT", "type", dtypes.float32, None, None),
        ("T: {int32, int64} = DT_INT32", "type", dtypes.int32, (dtypes.int32, dtypes.int64), None),
        ("T: {'SAME', 'VALID'}", "string", NO_DEFAULT, (b"SAME", b"VALID"), None),
        ('s: {"a"} = "a"', "string", b"a", (b"a",), None),
        ("s: string = 'it\\'s\\n'", "string", b"it's\n", None, None),
        ("n: int >= -1 = 3", "int", 3, None, -1),
        ("n: list(int) >= 2 = [1, -2]", "list(int)", (1, -2), None, 2),
        ("f: float = 1e-07", "float", 1e-07, None, None),
        ("b: bool = true", "bool", True, None, None),
        ("s: shape = [2,?]", "shape", TensorShape([2, None]), None, None),
        ("s: shape = <unknown>", "shape", TensorShape(None), None, None),
        ("s: list(shape) = [[], [3]]", "list(shape)", (TensorShape([]), TensorShape([3])), None, None),
        ("t: list({float, double}) >= 1", "list(type)", NO_DEFAULT, (dtypes.float32, dtypes.float64), 1),
        ("t: list(type) = []", "list(type)", (), None, None),
        ("f: func = body", "func", FunctionRef("body"), None, None),
    ],
)
def test_attributes(text, kind, default, allowed, minimum):
    attr = parse_attr(text)
    assert (attr.type, attr.default, attr.allowed, attr.minimum) == (kind, default, allowed, minimum)
    assert parse_attr(str(attr)) == attr


def test_groups_of_types():
    assert len(parse_attr("T: numbertype").allowed) == 17
    assert dtypes.complex64 not in parse_attr("T: realnumbertype").allowed
    assert parse_attr("T: {quantizedtype, string}").allowed[-2:] == (dtypes.qint32, dtypes.string)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("T", "expected 'name: type'"),
        ("T: typo", "expected one of string, int"),
        ("T: {float, typo}", "there is no type 'typo'"),
        ("T: type >= 1", "only an int or a list has a minimum"),
        ("n: int = one", "expected a number"),
        ("n: int = 1.5", "'1.5' is not of type int"),
        ("b: bool = yes", "expected true or false"),
        ("s: string = bare", "expected a quoted string"),
        ("n: list(int) = [1, 2", "expected ']'"),
        ("n: int = 1 and more", "expected the end"),
        ("s: shape = [2;3]", "expected ',' or '\\]'"),
        ("t: {float", "expected '}'"),
    ],
)
def test_malformed_attributes_name_the_place(text, words):
    with pytest.raises(ValueError, match=words):
        parse_attr(text)


def test_arguments():
    attrs = {"T": "type", "N": "int", "Ts": "list(type)"}
    assert parse_arg("x: float32", attrs).type is dtypes.float32
    assert parse_arg("x : Ref( T )", attrs).is_ref
    assert str(parse_arg("x: Ref(N*T)", attrs)) == "x: Ref(N * T)"
    assert parse_arg("x: Ts", attrs).type_list_attr == "Ts"
    assert parse_arg("x: Ts", attrs).is_list
    assert parse_arg("x: Ref(Ts)", attrs).types({"Ts": (dtypes.string,)}) == (dtypes.string._as_ref,)
    for wrong in ("x: N * Ts", "x: Ref(T", "x: T)", "1x: T", "x:"):
        with pytest.raises(ValueError, match="Trouble parsing"):
            parse_arg(wrong, attrs)


def test_no_default_survives_pickling():
    assert pickle.loads(pickle.dumps(parse_attr("T: type"))).default is NO_DEFAULT


TYPES = st.sampled_from(dtypes.ALL_DTYPES)
SHAPES = st.one_of(
    st.just(TensorShape(None)),
    st.lists(st.one_of(st.none(), st.integers(0, 99)), max_size=4).map(TensorShape),
)
VALUES = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "string": st.binary(max_size=8),
    "float": st.floats(allow_nan=False),
    "type": TYPES,
    "shape": SHAPES,
}


@given(
    st.sampled_from(sorted(VALUES)).flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(VALUES[kind], max_size=3))
    )
)
def test_values_are_read_as_they_were_written(pair):
    kind, values = pair
    whole = AttrDef("a", f"list({kind})", default=tuple(values))
    assert parse_attr(str(whole)).default == whole.default
    for value in values:
        assert parse_attr(f"a: {kind} = {value_text(value)}").default == value
