"""The executor's model: small steps whose times can be worked out by hand, and the same steps compiled."""

import random

import pytest

from gpuplace.cost.item_times import POLL_SECONDS
from tests.cost.clock_examples import LATENCY, US, example, ran, waited_for


def microseconds(times):
    return [round(one / US) for one in times]


def chain(nodes):
    return example(nodes, [(at, at + 1, 0) for at in range(len(nodes) - 1)])


def test_the_host_runs_ahead_of_the_gpu():
    seconds, times, _ = ran(chain([(1, 10, 100)] * 3), 4)
    assert microseconds(times.host_end) == [10, 20, 30] and microseconds(times.start) == [10, 110, 210]
    assert seconds == times.total == pytest.approx(310 * US) and times.cause == [-1, 0, 1]


def test_small_kernels_wait_for_their_launches():
    seconds, times, _ = ran(chain([(1, 10, 2)] * 5), 4)
    assert seconds == pytest.approx(52 * US) and times.cause == [-1] * 5


def test_kernels_of_the_cpu_share_its_cores_and_small_ones_its_threads():
    assert ran(example([(0, 1, 100)] * 3, []), 8)[0] == pytest.approx(301 * US)
    small = example([(0, 1, 9)] * 8, [])
    assert ran(small, 8)[0] == pytest.approx(10 * US) and ran(small, 2)[0] == pytest.approx(40 * US)


def test_what_is_cheap_runs_on_the_thread_that_made_it_ready():
    """The last of what is not cheap does too, if nothing else can."""
    fork = [(0, 1), (0, 2), (0, 3)]
    for is_expensive, starts in ((False, [0, 10, 20, 30]), (True, [0, 10, 10, 10])):
        _, times, _ = ran(example([(0, 1, 9)] * 4, fork, expensive=is_expensive), 4)
        assert microseconds(times.host_start) == starts


def test_threads_wake_up_and_those_that_are_awake_need_not():
    fork = example([(0, 1, 9)] * 5, [(0, item) for item in range(1, 5)])
    assert ran(fork, 2)[0] == pytest.approx(30 * US)
    slow = fork.timed(wake_up=12 * US)
    seconds, times, _ = ran(slow, 2)
    assert sorted(microseconds(times.host_start)) == [0, 10, 20, 22, 30]
    assert seconds == pytest.approx(40 * US) and waited_for(slow, 2)
    never = fork.timed(wake_up=1000 * US)
    assert ran(never, 2)[0] == pytest.approx(50 * US) == ran(never, 1)[0]


def test_a_thread_takes_its_time_to_fetch_what_is_ready():
    assert ran(example([(0, 1, 9)] * 3, []).timed(queue=5 * US, begin=100 * US), 1)[0] == pytest.approx(
        145 * US
    )


@pytest.mark.parametrize(("seconds", "starts"), [(38, [43, 43]), (398, [403, 415])])
def test_a_thread_that_was_idle_for_a_moment_need_not_wake_up(seconds, starts):
    """One is woken up at 14, finds nothing, and looks on until 64: the other's kernel ends before that, or after."""
    nodes = [(0, 1, one) for one in (1, seconds, 1, 99, 99)]
    forks = example(nodes, [(0, 1), (0, 2), (1, 3), (1, 4)]).timed(wake_up=12 * US, held=[0.0] * 5)
    assert sorted(microseconds(ran(forks, 2)[1].host_start[3:])) == starts


def test_a_kernel_has_all_cores_only_while_they_compute_it():
    both = example([(0, 1, 100)] * 2, [])
    seconds, times, _ = ran(both.timed(held=[30 * US, 100 * US]), 2)
    assert seconds == pytest.approx(131 * US) and times.cause == [-1, 0]
    # the second computes in one thread
    assert ran(both.timed(held=[30 * US, 0.0]), 2)[0] == pytest.approx(101 * US)


def test_copies_wait_for_kernels_before_them_and_for_links_that_they_share():
    both = example([(1, 1, 50), (2, 1, 50), (0, 1, 1)], [(0, 2, 100_000), (1, 2, 100_000)])
    _, times, clock = ran(both, 4)
    assert clock.source[:2] == [0, 1]
    assert times.start[3] == pytest.approx(51 * US) and times.end[3] == pytest.approx(156 * US)
    assert times.start[4] == pytest.approx(151 * US) and times.cause[4] == 3  # the link
    assert times.host_start[2] == pytest.approx(times.end[4] + POLL_SECONDS)
    apart = example([(1, 1, 50), (2, 1, 50), (0, 1, 1)], [(0, 2, 100_000), (1, 2, 100_000)], is_shared=False)
    _, times, _ = ran(apart, 4)
    assert times.start[3] == times.start[4] == pytest.approx(51 * US)


@pytest.mark.parametrize("queues", [True, False])
def test_copies_of_one_stream_go_one_at_a_time_where_they_queue(queues):
    nodes = [(1, 1, 10), (1, 1, 10), (0, 1, 1)]
    _, times, _ = ran(example(nodes, [(0, 2, 50_000), (1, 2, 50_000)], is_shared=False, queues=queues), 1)
    first, second = times.start[3:]
    assert first == pytest.approx(11 * US)
    assert second == pytest.approx((11 + 50) * US + LATENCY if queues else 21 * US)


def test_a_tensor_is_copied_once_to_each_memory_that_needs_it():
    """Of three readers on GPU 1 one takes it in host memory; GPU 0's own in host memory needs a copy, too."""
    nodes = [(1, 1, 1), *[(2, 1, 1)] * 3, (1, 1, 1), (1, 1, 1)]
    step = example(nodes, [(0, reader, 1000) for reader in range(1, 6)], in_host=(3, 4))
    _, times, clock = ran(step, 4)
    copies = list(zip(clock.receiver[:3], clock.to_host[:3], strict=True))
    assert clock.copies == [3] and copies == [(1, 1), (2, 0), (2, 1)]
    assert len(times.end) == 9 and min(times.host_start) >= 0
    assert microseconds(times.host_start[5:6]) == [1]  # on the same device no copy is waited for


def test_what_only_waits_for_another_device_gets_a_signal_without_bytes():
    _, times, clock = ran(example([(1, 1, 50), (2, 1, 1)], [(0, 1)]), 2)
    assert clock.carried[:1] == [0] and clock.to_host[:1] == [1]
    assert times.end[2] == pytest.approx(times.start[2] + LATENCY)


@pytest.mark.parametrize(("blocks", "start"), [(False, 1), (True, 1 + 5 + 100)])
def test_a_copy_from_pageable_memory_keeps_its_thread(blocks, start):
    """A GPU takes what is fed; the host has something else to do."""
    nodes = [(0, 0, 0), (1, 1, 0), (0, 1, 0)]
    _, times, _ = ran(example(nodes, [(0, 1, 100_000)], blocks=blocks, fed=(0,)), 1)
    assert microseconds(times.host_start[2:3]) == microseconds(times.host_end[3:]) == [start]


def test_a_run_that_is_too_long_ends_early():
    step = chain([(1, 10, 100)] * 30)
    seconds, _, _ = ran(step, 4)
    assert ran(step, 4, limit=seconds)[0] == seconds
    assert ran(step, 4, limit=seconds * 0.99)[0] == float("inf")


def test_times_are_the_same_every_time_and_the_path_leads_from_begin_to_end():
    nodes = [(1, 3, 20 + at) for at in range(20)] + [(0, 2, 30)]
    step = example(nodes, [(at, at + 1, 0) for at in range(19)] + [(7, 20, 1000)])
    assert ran(step, 3)[1] == ran(step, 3)[1]
    found = waited_for(step, 3)
    assert found[0][2] == 0.0 and found[-1][3] == pytest.approx(ran(step, 3)[0])
    ends = [end for *_, end in found]
    assert ends == sorted(ends)


def random_example(seed):
    """Nodes of all kinds on a host and three GPUs."""
    chance = random.Random(seed)
    count = chance.randint(2, 40)
    nodes = [
        (chance.choice([0, 1, 2, 3]), chance.choice([0, 1, 3]), chance.choice([0, 3, 30, 300]))
        for _ in range(count)
    ]
    edges = [
        (source, reader, *([] if chance.random() < 0.2 else [chance.choice([0, 100, 50_000])]))
        for reader in range(count)
        for source in range(reader)
        if chance.random() < 3 / count
    ]
    sizes = {edge[0]: edge[2] for edge in edges if len(edge) > 2}
    step = example(
        nodes,
        [(*edge[:2], sizes[edge[0]]) if len(edge) > 2 else edge for edge in edges],
        gpus=3,
        is_shared=chance.random() < 0.7,
        queues=chance.random() < 0.8,
        blocks=chance.random() < 0.3,
        in_host=[node for node in range(count) if chance.random() < 0.15],
        fed=[node for node in range(count) if nodes[node][0] == 0 and chance.random() < 0.2],
        expensive=chance.random() < 0.8,
        weight=chance.choice([1.0, 1.7]),
    )
    numbers = {"wake_up": 7 * US, "queue": 1.3 * US, "begin": 11 * US} if chance.random() < 0.5 else {}
    return step.timed(**numbers), chance.randint(1, 4)


def test_everything_runs_once_and_after_what_it_waits_for():
    for seed in range(150):
        step, threads = random_example(seed)
        seconds, times, clock = ran(step, threads)
        items, copies = step.graph.item_count, int(clock.copies[0])
        assert len(times.end) == items + copies and min(times.host_start) >= step.costs.begin
        assert seconds == times.total
        copied = {
            (clock.source[copy], clock.carried[copy], clock.receiver[copy], clock.to_host[copy]): times.end[
                items + copy
            ]
            for copy in range(copies)
        }
        assert len(copied) == copies
        for at, (source, reader) in enumerate(
            zip(step.source_of_edges(), step.graph.after.tolist(), strict=True)
        ):
            where, there = step.device[source], step.device[reader]
            arrived = [
                end
                for (item, tensor, receiver, _), end in copied.items()
                if (item, tensor, receiver) == (source, step.graph.tensor[at], there)
            ]
            if where != there:
                assert times.host_start[reader] >= min(arrived)
            elif not arrived:
                assert times.host_start[reader] >= times.host_end[source]


def test_compiled_it_gives_the_same_bits():
    pytest.importorskip("numba")
    for seed in range(150):
        step, threads = random_example(seed)
        plain, compiled = ran(step, threads), ran(step, threads, is_compiled=True)
        assert plain[:2] == compiled[:2], seed
        limit = 0.7 * plain[0]
        assert ran(step, threads, limit)[0] == ran(step, threads, limit, is_compiled=True)[0]
