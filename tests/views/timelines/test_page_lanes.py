"""The lanes of a page's timeline: GPUs first, copies and nearly empty lanes of the CPU thin."""

import struct
from dataclasses import replace

import numpy as np

import gpuplace as tf
from gpuplace.views.timelines.page import lane_order, thin_lanes, timeline_page
from tests.advisor.step_graphs import branches, graph_of


def predicted():
    placement = tf.place(
        graph_of(branches(count=3, width=256, blocks=1)), "2x V100", tf.ConfigProto(allow_soft_placement=True)
    )
    return tf.estimate(placement, "train", {"rows": (512, 256)}, "2x V100").timeline()


def test_gpus_come_first_and_events_keep_their_lanes():
    timeline = predicted()
    order = lane_order(timeline)
    kinds = ["GPU" in timeline.lanes[number].device for number in order]
    assert kinds == sorted(kinds, reverse=True) and True in kinds and False in kinds
    page = timeline_page(timeline)
    labels = [lane["label"] for lane in page.step["lanes"]]
    count = len(timeline)
    lanes = struct.unpack_from(f"<{count}I", page.columns, 3 * 8 * count + 2 * 4 * count)
    assert [labels[lane] for lane in lanes] == [timeline.lanes[lane].label for lane in timeline.lane]


def test_copies_and_nearly_empty_lanes_of_the_cpu_are_thin():
    timeline = predicted()
    cpu = next(lane for lane in timeline.lanes if "CPU" in lane.device)
    gpu = next(lane for lane in timeline.lanes if "GPU" in lane.device)
    more = (cpu._replace(label="CPU:0 (2)"), gpu._replace(label="GPU:0 copies", kind="copies"))
    wider = replace(timeline, lanes=(*timeline.lanes, *more))
    thin = thin_lanes(wider)
    assert thin[-2:].all()
    assert not thin[wider.lanes.index(cpu)] and not thin[wider.lanes.index(gpu)]
    assert isinstance(thin, np.ndarray) and not thin_lanes(replace(timeline, lanes=())).any()
