"""Constraints of nodes and groups, merged."""

import pytest

import gpuplace as tf
from gpuplace.device.parsed_name import ANY, parse_name
from gpuplace.placer.member import Member, merge_supported

PRIORITY = {"GPU": 210, "CPU": 70, "XLA_CPU": 50}
BOTH = (("GPU", 0), ("CPU", 0))


def member(requested="", resource="", assigned=""):
    return Member(BOTH, *(parse_name(name) if name else ANY for name in (requested, resource, assigned)))


@pytest.mark.parametrize(
    ("target", "other", "merged"),
    [
        (BOTH, BOTH, BOTH),
        (BOTH, (("CPU", 0),), (("CPU", 0),)),
        (BOTH, (("XLA_CPU", 0),), ()),
        ((("CPU", 0), ("GPU", 0)), BOTH, BOTH),
        (BOTH, (("CPU", 1), ("GPU", 0)), (("CPU", 1), ("GPU", 0))),
        ((("CPU", 1), ("GPU", 0)), BOTH, (("CPU", 1), ("GPU", 0))),
        ((("CPU", 2), ("GPU", 1)), (("CPU", 5), ("GPU", 3)), (("CPU", 2), ("GPU", 1))),
        ((("CPU", 2), ("GPU", 1)), (("GPU", 5), ("CPU", 3)), BOTH),  # they contradict each other
    ],
)
def test_types_of_both_lists_keep_priorities_that_agree(target, other, merged):
    assert merge_supported(target, other, PRIORITY) == merged


def test_requests_are_merged_and_binding_names_win():
    merged = member("/job:a").with_names_of(member("/gpu:1"), soft=False)
    assert str(merged.requested) == str(parse_name("/job:a/device:GPU:1"))
    merged = member("/gpu:1").with_names_of(member(resource="/cpu:0"), soft=True)
    assert merged.requested == merged.resource == parse_name("/cpu:0")
    merged = member("/gpu:1", "/cpu:0").with_names_of(member(assigned="/gpu:0"), soft=True)
    assert merged.requested == parse_name("/cpu:0") and merged.assigned == parse_name("/gpu:0")


def test_contradicting_requests_yield_to_soft_placement_and_binding_names_never():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot merge devices"):
        member("/gpu:1").with_names_of(member("/cpu:0"), soft=False)
    merged = member("/gpu:1").with_names_of(member("/cpu:0"), soft=True)
    assert merged.requested.type is None and merged.requested.id is None
    for kind in ("resource", "assigned"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot merge devices"):
            member(**{kind: "/gpu:1"}).with_names_of(member(**{kind: "/gpu:0"}), soft=True)


def test_a_consumer_takes_the_request_of_its_source_within_its_own_binding_names():
    assert member("/cpu:0").with_request_of(member("/gpu:1")).requested == parse_name("/gpu:1")
    bound = member("/cpu:0", resource="/cpu:0").with_request_of(member("/gpu:1"))
    assert bound.requested == parse_name("/cpu:0")


@pytest.mark.parametrize(
    ("names", "keep_resource", "soft"),
    [
        (("/job:a/gpu:1",), True, "/job:a"),
        (("/job:a/gpu:1", "/gpu:1"), True, "/job:a/device:GPU:1"),
        (("/job:a/gpu:1", "/gpu:1"), False, "/job:a"),
        (("/job:a/gpu:1", "", "/gpu:1"), False, "/job:a/device:GPU:1"),
        (("/job:a/gpu:1", "", "/device:GPU:*"), False, "/job:a/device:GPU:*"),
    ],
)
def test_a_soft_name_keeps_only_what_binds(names, keep_resource, soft):
    assert member(*names).soft_name(keep_resource=keep_resource) == parse_name(soft)
