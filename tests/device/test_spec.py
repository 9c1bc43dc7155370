"""DeviceSpec, canonical names and the device function of tf.device, compared with TensorFlow's own answers."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplace.device.spec import DeviceSpec, canonical_name, check_valid, merge_device
from gpuplace.release import set_release

RECORDED = json.loads((Path(__file__).parent / "data" / "device_names.json").read_text())


def answer(function, *args):
    """The result as text, or class and text of the error, as the recording script writes them."""
    try:
        return function(*args)
    except ValueError as error:
        return f"ERR {type(error).__name__} {error}"


def merged_in_place(text, other):
    spec = DeviceSpec.from_string(text)
    spec.merge_from(DeviceSpec.from_string(other))
    return spec.to_string()


def merged_by_function(text, inner):
    return merge_device(text).shortcut_string_merge(SimpleNamespace(device=inner))


def printed(text, _):
    return DeviceSpec.from_string(text).to_string()


def merged(text, other):
    return DeviceSpec.from_string(text).make_merged_spec(DeviceSpec.from_string(other)).to_string()


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_answers_equal_those_of_tensorflow(release):
    set_release(release)
    assert len(RECORDED["specs"][release]) > 300
    for text, other, answers in RECORDED["specs"][release]:
        questions = (printed, merged_in_place, merged, merged_by_function)
        assert [answer(ask, text, other) for ask in questions] == answers, (text, other)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/cpu:0", "/device:CPU:0"),
        ("/gpu:1", "/device:GPU:1"),
        ("gpu:0", "/device:GPU:0"),
        ("/GPU:0", "/device:GPU:0"),
        (":/gpu:0", "/device:GPU:0"),
        ("//cpu:0", "/device:CPU:0"),
        ("/device:gpu:*", "/device:GPU:*"),
        ("/device:GPU:*", "/device:GPU:*"),
        ("/gpu", "/device:GPU:*"),
        ("/job:ps/task:1", "/job:ps/task:1"),
        ("", ""),
        (None, ""),
    ],
)
def test_canonical_names(text, name):
    assert canonical_name(text) == name


def test_canonical_name_of_a_spec():
    assert canonical_name(DeviceSpec(job="ps", device_type="GPU")) == "/job:ps/device:GPU:*"


@pytest.mark.parametrize(
    ("release", "text", "message"),
    [
        ("1.15", "/tpu:0", "Unknown attribute: 'tpu' in '/tpu:0'"),
        ("1.15", "/gpu:0/cpu:0", "Cannot specify multiple device types: /gpu:0/cpu:0"),
        ("1.15", "/job", "Unknown attribute: 'job' in '/job'"),
        ("1.15", "/gpu:x", "invalid literal for int() with base 10: 'x'"),
        ("2.21", "/vpu:0", "Unknown attribute 'vpu' is encountered while parsing the device spec: '/vpu:0'."),
        (
            "2.21",
            "/gpu:0/cpu:0",
            "Multiple device types are not allowed while parsing the device spec: /gpu:0/cpu:0.",
        ),
    ],
)
def test_errors(release, text, message):
    set_release(release)
    with pytest.raises(ValueError) as caught:
        check_valid(text)
    assert str(caught.value) == message


def test_properties_are_converted_when_set():
    spec = DeviceSpec(job=7, replica="1", task="2", device_type="gpu", device_index="3")
    parts = (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index)
    assert parts == ("7", 1, 2, "GPU", 3)
    spec.device_type = None
    spec.job = None
    assert spec.to_string() == "/replica:1/task:2"


def test_replace_makes_another_spec():
    spec = DeviceSpec.from_string("/job:ps/gpu:1")
    assert spec.replace(device_index=None, task=4).to_string() == "/job:ps/task:4/device:GPU:*"
    assert spec.to_string() == "/job:ps/device:GPU:1"
    with pytest.raises(TypeError, match="device"):
        spec.replace(device="GPU")


def test_parse_from_string_changes_and_returns_the_spec():
    spec = DeviceSpec(job="ps")
    assert spec.parse_from_string("/gpu:1") is spec
    assert spec.to_string() == "/device:GPU:1"
    with pytest.raises(ValueError):
        spec.parse_from_string("/tpu:9")
    assert spec.to_string() == "/device:GPU:1"


def test_specs_of_one_name_are_equal():
    assert DeviceSpec.from_string("/gpu:0") == DeviceSpec(device_type="GPU", device_index=0)
    assert len({DeviceSpec.from_string("/gpu:0"), DeviceSpec.from_string("gpu:0")}) == 1
    assert DeviceSpec() != "/gpu:0"


def test_a_device_function_keeps_what_inner_scopes_set():
    function = merge_device("/job:worker/gpu:0")
    assert function(SimpleNamespace(device="/cpu:3")).to_string() == "/job:worker/device:CPU:3"
    assert merge_device(function) is function
    assert merge_device("").is_null_merge
    assert not function.is_null_merge


def test_a_device_function_is_not_changed_by_its_spec():
    spec = DeviceSpec.from_string("/gpu:0")
    function = merge_device(spec)
    spec.device_index = 5
    assert function.to_string() == "/device:GPU:0"


indices = st.none() | st.integers(0, 300)
specs = st.builds(
    DeviceSpec,
    job=st.none() | st.sampled_from(["ps", "worker", "localhost"]),
    replica=indices,
    task=indices,
    device_type=st.sampled_from(["CPU", "GPU", "XLA_CPU"]),
    device_index=indices,
)


@given(specs)
def test_print_then_parse_gives_the_same(spec):
    assert DeviceSpec.from_string(spec.to_string()) == spec


@given(specs, specs, specs)
def test_merging_is_associative_and_idempotent(one, two, three):
    left = one.make_merged_spec(two).make_merged_spec(three)
    assert left == one.make_merged_spec(two.make_merged_spec(three))
    assert left.make_merged_spec(three) == left
    assert one.make_merged_spec(DeviceSpec()) == one


@given(st.text("/:*gpuCPGU01job taskdevice", max_size=24))
def test_any_text_is_parsed_or_refused_with_value_error(text):
    try:
        name = canonical_name(text)
    except ValueError:
        return
    assert canonical_name(name) == name
