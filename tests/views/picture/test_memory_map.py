"""Pictures and texts of a simulated GPU's memory."""

from xml.etree import ElementTree

import pytest

import gpuplace as tf
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.runtime.memory.device_memory import DeviceMemory
from gpuplace.views.picture.memory_map import chunks_text, memory_html, memory_svg, memory_text, memory_title

MIB = 1 << 20
SVG = "{http://www.w3.org/2000/svg}"


def allocator_of(limit_mib=64, allow_growth=False):
    return BFCAllocator(
        DeviceMemory(limit_mib * MIB), limit_mib * MIB, allow_growth=allow_growth, retry_wait_ms=0
    )


def bars(svg):
    """[(class, x, y, width)] without the legend."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return [
        (rect.get("class"), *(float(rect.get(name)) for name in ("x", "y", "width")))
        for rect in found
        if rect.get("class") and float(rect.get("y")) > 10
    ]


def test_nothing_is_taken_yet():
    allocator = allocator_of()
    assert memory_text(allocator) == (
        "GPU_0_bfc: 0 B in use, 0 B taken from the GPU in 0 regions, limit 64.0 MiB"
    )
    assert chunks_text(allocator) == ""
    assert [kind for kind, *_ in bars(memory_svg(allocator))] == ["none"]
    assert "<details>" not in memory_html(allocator)


def test_one_region_with_a_hole():
    allocator = allocator_of()
    first, second = (allocator.allocate(16 * MIB, label=name) for name in ("first", "second"))
    allocator.deallocate(first)
    assert second is not None
    title, line = memory_text(allocator).splitlines()
    assert (
        title
        == memory_title(allocator)
        == ("GPU_0_bfc: 16.0 MiB in use, 64.0 MiB taken from the GPU in 1 region, limit 64.0 MiB")
    )
    assert line == f"64.0 MiB  {'.' * 12}{'#' * 12}{'.' * 24}  second"
    rows = [line.split() for line in chunks_text(allocator).splitlines()[1:]]
    assert rows == [
        ["-", "-", "32.0", "MiB", "free"],
        ["-", "-", "16.0", "MiB", "free"],
        ["second", "16.0", "MiB", "16.0", "MiB", "in", "use"],
    ]
    limit, rest, free, used, last = bars(memory_svg(allocator))
    assert [limit[0], rest[0], free[0], used[0], last[0]] == ["used", "free", "free", "used", "free"]
    assert limit[3] * 3 == pytest.approx(rest[3], rel=0.01)
    assert free[3] == pytest.approx(used[3]) and last[3] == pytest.approx(2 * used[3], rel=0.01)
    assert free[1] + free[3] == pytest.approx(used[1], abs=0.02)


def test_regions_that_grow_are_counted_beyond_the_eighth():
    allocator = allocator_of(4096, allow_growth=True)
    for number in range(10):
        assert allocator.allocate(MIB << number, label=f"<tensor {number}>") is not None
    regions = len(allocator.regions())
    assert regions > 8
    assert memory_text(allocator).splitlines()[-1] == f"and {regions - 8} more region{'s' * (regions > 9)}"
    svg = memory_svg(allocator)
    assert f"and {regions - 8} more region" in svg and "&lt;tensor 9&gt;" not in svg and "<tensor" not in svg
    assert all(96 <= x and x + width <= 720 for _, x, _, width in bars(svg))


def test_a_session_gives_its_allocators_and_a_notebook_shows_them():
    tf.use_machine("2x Tesla K40c")
    with tf.device("/gpu:1"):
        start = tf.get_variable("weights", [1024], initializer=tf.ones_initializer()).initializer
    session = tf.Session()
    session.run(start)
    assert [name.rpartition("/")[2] for name in session.allocators] == ["device:GPU:0", "device:GPU:1"]
    allocator = session.allocators["/job:localhost/replica:0/task:0/device:GPU:1"]
    assert allocator.stats().bytes_in_use >= 4096
    shown = allocator._repr_mimebundle_()
    assert shown["text/plain"].startswith("GPU_1_bfc: 8.0 KiB in use, 10.5 GiB taken")
    assert "weights/Initializer/ones" in shown["text/plain"]
    assert (
        "data:image/svg+xml;base64," in shown["text/html"]
        and "weights/Initializer/ones" in shown["text/html"]
    )
    tf.use_machine("cpu")
    assert tf.Session().allocators == {}
