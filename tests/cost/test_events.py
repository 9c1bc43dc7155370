"""The executor's model: small flows whose times can be worked out by hand."""

import pytest

from gpuplace.cost.events import COPY, ON_CPU, ON_GPU, POLL_SECONDS, SPLIT_SECONDS, CopyWay, Flow, path, run

US = 1e-6


def flow(items, edges, ways=(), links=0, streams=4):
    """Items are (kind, host µs, kernel µs, stream or way, bytes)."""
    after = [[b for a, b in edges if a == item] for item in range(len(items))]
    first = [0]
    for found in after:
        first.append(first[-1] + len(found))
    return Flow(
        kind=[item[0] for item in items],
        host=[item[1] * US for item in items],
        kernel=[item[2] * US for item in items],
        stream=[item[3] for item in items],
        nbytes=[float(item[4]) if len(item) > 4 else 0.0 for item in items],
        is_expensive=[item[0] == ON_CPU for item in items],
        held=[item[2] * US if item[0] == ON_CPU and item[2] * US > SPLIT_SECONDS else 0.0 for item in items],
        waits=[sum(b == item for _, b in edges) for item in range(len(items))],
        first=first,
        after=[b for found in after for b in found],
        ways=list(ways),
        streams=streams,
        links=links,
    )


def test_the_host_runs_ahead_of_the_gpu():
    chain = flow([(ON_GPU, 10, 100, 0)] * 3, [(0, 1), (1, 2)])
    times = run(chain, 4)
    assert [round(one / US) for one in times.host_end] == [10, 20, 30]
    assert [round(one / US) for one in times.start] == [10, 110, 210]
    assert times.total == pytest.approx(310 * US) and times.cause == [-1, 0, 1]


def test_small_kernels_wait_for_their_launches():
    times = run(flow([(ON_GPU, 10, 2, 0)] * 5, [(i, i + 1) for i in range(4)]), 4)
    assert times.total == pytest.approx(52 * US) and times.cause == [-1] * 5


def test_kernels_of_the_cpu_share_its_cores_and_small_ones_its_threads():
    large = run(flow([(ON_CPU, 1, 100, 0)] * 3, []), 8)
    assert large.total == pytest.approx(301 * US)
    small = flow([(ON_CPU, 1, 9, 0)] * 8, [])
    assert run(small, 8).total == pytest.approx(10 * US)
    assert run(small, 2).total == pytest.approx(40 * US)


def test_threads_wake_up_and_those_that_are_awake_need_not():
    begin_and_four = [(ON_CPU, 1, 9, 0)] * 5
    fork = flow(begin_and_four, [(0, item) for item in range(1, 5)])
    assert run(fork, 2).total == pytest.approx(30 * US)
    fork.wake_up = 12 * US
    times = run(fork, 2)
    assert sorted(round(one / US) for one in times.host_start) == [0, 10, 20, 22, 30]
    assert times.total == pytest.approx(40 * US) and path(fork, times)
    fork.wake_up = 1000 * US
    assert run(fork, 2).total == pytest.approx(50 * US) == run(fork, 1).total


@pytest.mark.parametrize(("seconds", "starts"), [(38, [43, 43]), (398, [403, 415])])
def test_a_thread_that_was_idle_for_a_moment_need_not_wake_up(seconds, starts):
    """One is woken up at 14, finds nothing, and looks on until 64: the other's kernel ends before that, or after."""
    items = [(ON_CPU, 1, one, 0) for one in (1, seconds, 1, 99, 99)]
    forks = flow(items, [(0, 1), (0, 2), (1, 3), (1, 4)])
    forks.wake_up, forks.held = 12 * US, [0.0] * 5
    assert sorted(round(one / US) for one in run(forks, 2).host_start[3:]) == starts


def test_a_kernel_has_all_cores_only_while_they_compute_it():
    both = flow([(ON_CPU, 1, 100, 0)] * 2, [])
    both.held = [30 * US, 100 * US]
    times = run(both, 2)
    assert times.total == pytest.approx(131 * US) and times.cause == [-1, 0]
    both.held = [30 * US, 0.0]  # the second computes in one thread
    assert run(both, 2).total == pytest.approx(101 * US)


def test_copies_wait_for_kernels_before_them_and_for_links_that_they_share():
    out = CopyWay(2, (0,), (0,), (1e9,), 1e9, 5 * US, False)
    other = CopyWay(3, (1,), (0,), (1e9,), 1e9, 5 * US, False)
    items = [(ON_GPU, 1, 50, 0), (ON_GPU, 1, 50, 1), (COPY, 1, 0, 0, 100_000), (COPY, 1, 0, 1, 100_000)]
    both = flow([*items, (ON_CPU, 1, 1, 0)], [(0, 2), (1, 3), (2, 4), (3, 4)], [out, other], links=1)
    times = run(both, 4)
    assert times.start[2] == pytest.approx(51 * US) and times.end[2] == pytest.approx(156 * US)
    assert times.start[3] == pytest.approx(151 * US) and times.cause[3] == 2  # the link
    assert times.host_start[4] == pytest.approx(times.end[3] + POLL_SECONDS)


def test_a_copy_from_pageable_memory_keeps_its_thread():
    way = CopyWay(1, (0,), (), (), 1e9, 0.0, True)
    times = run(flow([(COPY, 1, 0, 0, 1000), (ON_CPU, 1, 0, 0)], [], [way]), 1)
    assert times.host_start[1] == pytest.approx(2 * US)


def test_times_are_the_same_every_time_and_the_path_leads_from_begin_to_end():
    way = CopyWay(2, (0,), (0,), (1e9,), 1e9, 5 * US, False)
    items = [(ON_GPU, 3, 20 + i, 0) for i in range(20)] + [(COPY, 1, 0, 0, 1000), (ON_CPU, 2, 30, 0)]
    edges = [(i, i + 1) for i in range(19)] + [(7, 20), (20, 21)]
    made = flow(items, edges, [way], links=1)
    times = run(made, 3)
    assert times == times and run(made, 3).end == times.end
    found = path(made, times)
    assert found[0][2] == 0.0 and found[-1][3] == pytest.approx(times.total)
    ends = [end for *_, end in found]
    assert ends == sorted(ends)
