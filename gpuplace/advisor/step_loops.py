"""The time of a step; see ``loops`` for what loops are.

What happens is TensorFlow's executor as ``gpuplace.cost.events`` has it, with the copies made as they are needed: a
worker of the host starts a node and goes on with what that makes ready; a GPU runs what was started, one after the
other; a tensor is copied once to each device that reads it; a copy waits for what was started on the GPUs at both of
its ends before, for its channel, and for the links that it shares. An item is a node, or ``nodes + (tensor * devices +
receiver) * 2 + to the host's memory``, a copy.
"""

from __future__ import annotations

from gpuplace.advisor.records import Step, StepWork, Wholes

IS_OVER = 0
GOES_ON = 1
BEGINS = 2


def push(work: StepWork, size: int, time: float, turn: int, code: int, line: int) -> int:
    """Puts an event into the heap.

    Args:
        work: a ``StepWork``.
        size: how many events there are.
        time: when it is.
        turn: of two events at one time, the one with the lower comes first.
        code: four times its item, and what happens.
        line: of what its worker does next; -1: it has no worker.

    Returns:
        How many events there are now.
    """
    times, turns, codes, lines = work.times, work.turns, work.codes, work.lines
    at = size
    while at > 0:
        above = (at - 1) // 2
        if times[above] < time or (times[above] == time and turns[above] < turn):
            break
        times[at] = times[above]
        turns[at] = turns[above]
        codes[at] = codes[above]
        lines[at] = lines[above]
        at = above
    times[at] = time
    turns[at] = turn
    codes[at] = code
    lines[at] = line
    return size + 1


def drop(work: StepWork, size: int) -> int:
    """Takes the first event out of the heap.

    Args:
        work: a ``StepWork``.
        size: how many events there are.

    Returns:
        How many events there are now.
    """
    times, turns, codes, lines = work.times, work.turns, work.codes, work.lines
    size -= 1
    time = times[size]
    turn = turns[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        other = below + 1
        if other < size and (
            times[other] < times[below] or (times[other] == times[below] and turns[other] < turns[below])
        ):
            below = other
        if time < times[below] or (time == times[below] and turn < turns[below]):
            break
        times[at] = times[below]
        turns[at] = turns[below]
        codes[at] = codes[below]
        lines[at] = lines[below]
        at = below
    times[at] = time
    turns[at] = turn
    codes[at] = codes[size]
    lines[at] = lines[size]
    return size


def append(work: StepWork, line: int, item: int) -> None:
    """Puts an item at the end of a line.

    Args:
        work: a ``StepWork``.
        line: which.
        item: which.
    """
    work.following[item] = -1
    if work.head[line] < 0:
        work.head[line] = item
    else:
        work.following[work.tail[line]] = item
    work.tail[line] = item


def step_time(step: Step, device: Wholes, work: StepWork, limit: float) -> float:
    """The time of one step.

    Args:
        step: a ``Step``.
        device: ``[groups]``.
        work: a ``StepWork``; written. ``total``: what all nodes and copies take, one after the other; ``last``: the
            item that ended last, and whether that was its start.
        limit: where it is seen that the time will be more, infinity is answered at once.
    """
    nodes = step.node_count
    devices = step.device_count
    threads = step.threads
    pending, where, following, head = work.pending, work.where, work.following, work.head
    stream_free, stream_last = work.stream_free, work.stream_last
    channel_free, channel_last, is_due = work.channel_free, work.channel_last, work.is_due
    link_free, link_last, ready_at, asked = work.link_free, work.link_last, work.ready_at, work.asked
    cause, host_cause, by_worker, is_started = work.cause, work.host_cause, work.by_worker, work.is_started
    ready = threads  # lines: of each worker, of what is ready, of each channel
    for node in range(nodes):
        pending[node] = step.waits[node]
        where[node] = device[step.group[node]]
    for gate in range(len(step.gates)):
        begin = step.gate_start[gate]
        own = where[step.awaited[begin]]
        for at in range(begin + 1, step.gate_start[gate + 1]):
            if where[step.awaited[at]] != own:
                own = step.gate_homes[gate]
                break
        where[step.gates[gate]] = own
    for line in range(threads + 1 + step.channels):
        head[line] = -1
    for one in range(devices):
        stream_free[one] = 0.0
        stream_last[one] = -1
    for one in range(step.channels):
        channel_free[one] = 0.0
        channel_last[one] = -1
        is_due[one] = 0
    for one in range(step.links):
        link_free[one] = 0.0
        link_last[one] = -1
    for one in range(threads):
        work.idle[one] = one
    idle = threads
    pool_free = 0.0
    pool_last = -1
    for node in range(nodes):
        if pending[node] == 0:
            append(work, ready, node)
    size = 0
    turn = 0
    now = 0.0
    current = -1
    what = IS_OVER
    finish = 0.0
    total = 0.0
    work.last[0] = -1
    work.last[1] = 0
    while True:
        line = -1
        item = -1
        if idle > 0 and head[ready] >= 0:
            idle -= 1
            item = head[ready]
            head[ready] = following[item]
            line = work.idle[idle]
            head[line] = -1
        elif size > 0:
            now = work.times[0]
            code = work.codes[0]
            line = work.lines[0]
            size = drop(work, size)
            current = code // 4
            what = code % 4
            if what == BEGINS:
                tensor = (current - nodes) // (2 * devices)
                way = way_of(step, where, current)
                begin = now
                for at in range(way * step.most_shared, (way + 1) * step.most_shared):
                    link = step.shared[at]
                    if link >= 0 and link_free[link] > begin:
                        begin = link_free[link]
                        cause[current] = link_last[link]
                units = step.units[tensor]
                lasts = step.latency[way] + units * step.per_unit[way]
                over = begin + lasts
                for at in range(way * step.most_shared, (way + 1) * step.most_shared):
                    link = step.shared[at]
                    if link >= 0:
                        link_free[link] = begin + units * step.pace[link]
                        link_last[link] = current
                channel = step.channel[way]
                channel_free[channel] = over
                channel_last[channel] = current
                total += lasts
                if over > finish:
                    finish = over
                    work.last[0] = current
                    work.last[1] = 0
                    if finish > limit:
                        return float("inf")
                turn += 2
                size = push(work, size, over + step.notice, turn, current * 4 + IS_OVER, -1)
                queue = threads + 1 + channel
                if head[queue] >= 0:
                    item = head[queue]
                    head[queue] = following[item]
                    begin = ready_at[item - nodes]
                    waited = asked[item - nodes]
                    if over >= begin:
                        begin = over
                        waited = current
                    cause[item] = waited
                    turn += 2
                    size = push(work, size, begin, turn, item * 4 + BEGINS, -1)
                else:
                    is_due[channel] = 0
                continue
            if what == IS_OVER:
                held = -1
                if current < nodes:
                    own = where[current]
                    is_gpu = step.is_pool[own] == 0 and step.host >= 0
                    for at in range(step.after_start[current], step.after_start[current + 1]):
                        other = step.after[at]
                        if where[other] != own or (step.is_turned[at] == 1 and is_gpu):
                            continue
                        pending[other] -= 1
                        if pending[other] == 0:
                            if step.is_pool[own] == 1 and step.is_inline[other] == 0:
                                if held >= 0:
                                    append(work, ready, held)
                                held = other
                            else:
                                append(work, line, other)
                    for tensor in range(step.tensor_start[current], step.tensor_start[current + 1]):
                        for one in range(2 * devices):
                            is_started[one] = 0
                        is_read = False
                        is_signal = step.is_signal[tensor] == 1
                        for at in range(step.reader_start[tensor], step.reader_start[tensor + 1]):
                            one = where[step.readers[at]]
                            to_host = step.host_reads[at]
                            if one != own:
                                if is_signal or step.is_pool[one] == 1:
                                    to_host = 1
                                is_started[2 * one + to_host] = 1
                                is_read = True
                            elif is_gpu and not is_signal and to_host != step.host_made[tensor]:
                                is_started[2 * one + to_host] = 1
                                is_read = True
                        if is_read:
                            for one in range(2 * devices):
                                if is_started[one] == 1:
                                    other = nodes + tensor * 2 * devices + one
                                    if step.is_pool[own] == 1:
                                        if held >= 0:
                                            append(work, ready, held)
                                        held = other
                                    else:
                                        append(work, line, other)
                    if held >= 0:
                        if head[line] < 0:
                            append(work, line, held)
                        else:
                            append(work, ready, held)
                else:
                    tensor = (current - nodes) // (2 * devices)
                    receiver = (current - nodes) // 2 % devices
                    is_any = step.is_signal[tensor] == 1 or step.is_pool[receiver] == 1
                    to_host = (current - nodes) % 2
                    for at in range(step.reader_start[tensor], step.reader_start[tensor + 1]):
                        other = step.readers[at]
                        if where[other] == receiver and (is_any or step.host_reads[at] == to_host):
                            pending[other] -= 1
                            if pending[other] == 0:
                                append(work, ready, other)
                    continue
            if head[line] < 0:
                work.idle[idle] = line
                idle += 1
                continue
            item = head[line]
            head[line] = following[item]
        else:
            break
        host_cause[item] = current
        by_worker[item] = 1 if what == GOES_ON else 0
        cause[item] = -1
        if item < nodes:
            here = where[item]
            launched = now + step.starts[item * devices + here]
            seconds = step.seconds[item * devices + here]
            total += seconds
            turn += 1
            begin = launched
            over = launched + seconds
            if step.is_pool[here] == 1:
                if step.held[item] > 0.0:
                    if pool_free > begin:
                        begin = pool_free
                        cause[item] = pool_last
                    over = begin + seconds
                    pool_free = begin + step.held[item]
                    pool_last = item
                size = push(work, size, over, turn, item * 4 + IS_OVER, line)
            else:
                if seconds > 0.0:
                    if stream_free[here] > begin:
                        begin = stream_free[here]
                        cause[item] = stream_last[here]
                    over = begin + seconds
                    stream_free[here] = over
                    stream_last[here] = item
                size = push(work, size, launched, turn, item * 4 + IS_OVER, line)
            if over > finish:
                finish = over
                work.last[0] = item
                work.last[1] = 0
                if finish > limit:
                    return float("inf")
        else:
            launched = now + step.start
            way = way_of(step, where, item)
            sender = way // devices
            receiver = way % devices
            channel = step.channel[way]
            turn += 1
            if channel < 0 or sender == receiver:
                size = push(work, size, launched, turn, item * 4 + IS_OVER, -1)
            else:
                begin = launched
                waited = -1
                if step.is_pool[sender] == 0 and stream_free[sender] > begin:
                    begin = stream_free[sender]
                    waited = stream_last[sender]
                if step.is_pool[receiver] == 0 and stream_free[receiver] > begin:
                    begin = stream_free[receiver]
                    waited = stream_last[receiver]
                if is_due[channel] == 1:
                    ready_at[item - nodes] = begin
                    asked[item - nodes] = waited
                    append(work, threads + 1 + channel, item)
                else:
                    if channel_free[channel] > begin:
                        begin = channel_free[channel]
                        waited = channel_last[channel]
                    cause[item] = waited
                    is_due[channel] = 1
                    size = push(work, size, begin, turn, item * 4 + BEGINS, -1)
            turn += 1
            size = push(work, size, launched, turn, item * 4 + GOES_ON, line)
            if launched > finish:
                finish = launched
                work.last[0] = item
                work.last[1] = 1
                if finish > limit:
                    return float("inf")
    work.total[0] = total
    return finish


def way_of(step: Step, where: Wholes, item: int) -> int:
    """The way of a copy between memories, as ``sender * devices + receiver``; the host stands for its memory.

    Args:
        step: a ``Step``.
        where: ``[nodes]``: devices.
        item: the copy.
    """
    devices = step.device_count
    tensor = (item - step.node_count) // (2 * devices)
    sender = where[step.source[tensor]]
    receiver = (item - step.node_count) // 2 % devices
    if step.host >= 0:
        if step.is_pool[sender] == 1 or step.host_made[tensor] == 1:
            sender = step.host
        if (item - step.node_count) % 2 == 1:
            receiver = step.host
    return int(sender * devices + receiver)
