"""The strict parser, matching and merging, compared with the answers of TensorFlow's C++."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplace.device.parsed_name import (
    ANY,
    ParsedName,
    canonicalize_device_name,
    full_name,
    parse_local_name,
    parse_name,
)
from gpuplace.errors import InvalidArgumentError

RECORDED = json.loads((Path(__file__).parent / "data" / "device_names.json").read_text())
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def dump(name):
    return "refused" if name is None else "|".join("~" if part is None else str(part) for part in name)


def merge_answer(function, one, two):
    try:
        return dump(function(one, two))
    except InvalidArgumentError as error:
        return f"ERR {error.message}"


MERGES = {
    "MergeDevNames": lambda one, two: one.merge(two),
    "MergeDevNames soft": lambda one, two: one.merge(two, allow_soft_placement=True),
    "MergeOverrideDevNames": lambda one, two: one.merge_override(two),
    "MergeUnsetDevNames": lambda one, two: one.merge_unset(two),
    "EnsureSpecification": lambda one, two: one.ensure_specification(two),
}
PREDICATES = {
    "AreCompatibleDevNames": lambda one, two: one.is_compatible(two),
    "IsSpecification": lambda one, two: one.is_specification(two),
    "IsSameAddressSpace": lambda one, two: one.is_same_address_space(two),
}


def test_every_recorded_string_is_parsed_as_tensorflow_does():
    assert len(RECORDED["parse"]) > 300
    for text, parts, printed in RECORDED["parse"]:
        name = parse_name(text)
        assert dump(name) == parts, text
        assert (name.to_string() if name is not None else "") == printed, text


def test_every_recorded_merge_and_match_is_tensorflows():
    assert len(RECORDED["merge"]) > 200
    header, *rows = RECORDED["merge"]
    for row in rows:
        one, two, *given_answers = row
        answers = dict(zip(header[2:], given_answers, strict=True))
        names = parse_name(one), parse_name(two)
        for kind, function in MERGES.items():
            assert merge_answer(function, *names) == answers[kind], (kind, one, two)
        for kind, predicate in PREDICATES.items():
            assert predicate(*names) == answers[kind], (kind, one, two)


@pytest.mark.parametrize(
    "text", ["gpu:0", "/gpu", "/tpu:0", "/gpu:0/", "//gpu:0", "/job:", "/job:1", "/gpu:-1"]
)
def test_refused(text):
    assert parse_name(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/", ANY),
        ("", ANY),
        ("/gpu:01", ParsedName(type="GPU", id=1)),
        ("/gpu:0/cpu:0", ParsedName(type="CPU", id=0)),
        ("/device:gpu:1", ParsedName(type="gpu", id=1)),
        ("/device:GPU", ParsedName(type="GPU")),
        ("/task:3/job:ps", ParsedName(job="ps", task=3)),
        ("/job:a/job:*", ANY),
        ("/device:*:1", ParsedName(id=1)),
        ("/gpu:4294967297", ParsedName(type="GPU", id=1)),
    ],
)
def test_accepted(text, name):
    assert parse_name(text) == name


def test_local_names():
    assert parse_local_name("GPU:0") == ParsedName(type="GPU", id=0)
    assert parse_local_name("/GPU:0") is None
    assert parse_local_name("GPU") is None
    assert parse_local_name("GPU:0x") is None
    assert parse_name("/gpu:1").local_name == "/device:GPU:1"
    with pytest.raises(ValueError, match="has no device type and index"):
        _ = parse_name("/job:ps").local_name


def test_conflicts_name_both_devices():
    with pytest.raises(InvalidArgumentError) as caught:
        parse_name("/job:ps/gpu:0").merge(parse_name("/cpu:0"))
    assert (
        caught.value.message
        == "Cannot merge devices with incompatible types: '/job:ps/device:GPU:0' and '/device:CPU:0'"
    )
    with pytest.raises(InvalidArgumentError, match="incompatible jobs: '/job:a' and '/job:b'"):
        parse_name("/job:a").merge(parse_name("/job:b"), allow_soft_placement=True)
    with pytest.raises(InvalidArgumentError, match="incompatible tasks"):
        parse_name("/task:0").merge_override(parse_name("/task:1"))
    with pytest.raises(InvalidArgumentError, match="incompatible ids"):
        parse_name("/gpu:0").merge(parse_name("/gpu:1"))


def test_soft_merging_gives_up_type_and_id_only():
    soft = parse_name("/job:a/gpu:0").merge(parse_name("/cpu:0"), allow_soft_placement=True)
    assert soft.to_string() == "/job:a"
    assert (
        parse_name("/gpu:0").merge(parse_name("/gpu:1"), allow_soft_placement=True).to_string()
        == "/device:GPU:*"
    )
    assert parse_name("/gpu:0").merge_override(parse_name("/cpu:1")).to_string() == "/device:CPU:1"


def test_complete_specification_needs_a_complete_name():
    assert parse_name("/gpu:*").is_complete_specification(parse_name(CPU.replace("CPU", "GPU")))
    assert not parse_name("/gpu:*").is_complete_specification(parse_name(CPU))
    with pytest.raises(ValueError, match="expected a complete device name"):
        ANY.is_complete_specification(parse_name("/gpu:0"))


def test_canonicalize_device_name():
    assert canonicalize_device_name("GPU:1", CPU) == "/job:localhost/replica:0/task:0/device:GPU:1"
    assert canonicalize_device_name("/gpu:1", CPU) == "/job:localhost/replica:0/task:0/device:GPU:1"
    for fullname, basename, message in [
        ("gpu", CPU, "Could not parse gpu into a device specification."),
        ("/gpu:0", "x", "Could not parse basename: x into a device specification."),
        ("/gpu:0", "/job:a", "Basename: /job:a should be fully specified."),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            canonicalize_device_name(fullname, basename)
        assert caught.value.message == message


def test_full_and_legacy_names():
    assert full_name("ps", 0, 3, "GPU", 1) == "/job:ps/replica:0/task:3/device:GPU:1"
    assert parse_name("/job:ps/device:GPU:1").to_legacy_string() == "/job:ps/gpu:1"
    assert parse_name("/gpu:*").to_legacy_string() == "/gpu:*"
    assert parse_name("/job:ps").to_legacy_string() == "/job:ps"
    with pytest.raises(ValueError, match="invalid parts of a device name"):
        full_name("1ps", 0, 0, "GPU", 0)


numbers = st.none() | st.integers(0, (1 << 31) - 1)
names = st.builds(
    ParsedName,
    job=st.none() | st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,6}", fullmatch=True),
    replica=numbers,
    task=numbers,
    type=st.none() | st.sampled_from(["CPU", "GPU", "gpu", "XLA_GPU"]),
    id=numbers,
).map(lambda name: name if name.type else name._replace(id=None))
few = st.sampled_from([None, 0, 1])
close = st.builds(
    ParsedName,
    job=st.sampled_from([None, "a"]),
    replica=few,
    task=few,
    type=st.sampled_from([None, "CPU", "GPU"]),
    id=few,
)


@given(names)
def test_print_then_parse_gives_the_same(name):
    assert parse_name(name.to_string()) == name


@given(st.text("/:*gpuCPU01deviceGjob_", max_size=24))
def test_whatever_is_accepted_prints_to_what_means_the_same(text):
    name = parse_name(text)
    if name is not None and (name.type is not None or name.id is None):
        assert parse_name(name.to_string()) == name


@given(close, close)
def test_compatible_names_merge_to_one_that_specifies_both(one, two):
    if one.is_compatible(two):
        both = one.merge(two)
        assert both == two.merge(one) == one.merge_unset(two) == one.ensure_specification(two)
        assert one.is_specification(both) and two.is_specification(both)
    else:
        with pytest.raises(InvalidArgumentError, match="Cannot merge devices with incompatible"):
            one.merge(two)


@given(close, close)
def test_soft_merging_never_fails_on_type_or_id(one, two):
    one, two = (
        one._replace(job=None, replica=None, task=None),
        two._replace(job=None, replica=None, task=None),
    )
    soft = one.merge(two, allow_soft_placement=True)
    assert soft.is_compatible(one) and soft.is_compatible(two)
    assert two.is_specification(one.merge_override(two))
