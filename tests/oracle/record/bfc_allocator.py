"""Drive TensorFlow 2.21's own BFC allocator over made-up device memory: tests/data/bfc_traces.json.

    python tests/oracle/record/bfc_allocator.py FILE            # writes traces with TensorFlow's answers
    python tests/oracle/record/bfc_allocator.py --compare 60    # compares ours with TensorFlow's for 60 seconds

Needs tensorflow 2.21.0 and g++. Device memory is handed out as ``gpuplace.runtime.memory.device_memory`` does it, at
the lowest 2 MiB aligned place that fits, so even addresses must be equal. At most 4 KiB are never refused: TensorFlow
would ask for the same 2,304 bytes for ever.
"""

import argparse
import ctypes
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

NATIVE = r"""
#include <set>
#include "xla/tsl/framework/bfc_allocator.h"
#include "xla/tsl/protobuf/bfc_memory_map.pb.h"
using namespace tsl;
constexpr uint64_t kAlignment = 2 << 20;

struct MadeUpMemory : SubAllocator {
  size_t capacity, used = 0;
  std::set<std::pair<uint64_t, uint64_t>> regions;
  explicit MadeUpMemory(size_t c) : SubAllocator({}, {}), capacity(c) {}
  void* Alloc(size_t, size_t n, size_t* got) override {
    *got = n;
    if (n <= 4096 && n > capacity - used) capacity = used + n;
    if (n == 0 || n > capacity - used) return nullptr;
    uint64_t address = 0x7F0000000000ull;
    for (auto& region : regions) {
      if (address + n <= region.first) break;
      address = (region.second + kAlignment - 1) / kAlignment * kAlignment;
    }
    regions.insert({address, address + n});
    used += n;
    return reinterpret_cast<void*>(address);
  }
  void Free(void* p, size_t n) override {
    regions.erase({reinterpret_cast<uint64_t>(p), reinterpret_cast<uint64_t>(p) + n});
    used -= n;
  }
  bool SupportsCoalescing() const override { return false; }
  AllocatorMemoryType GetMemoryType() const override { return AllocatorMemoryType::kDevice; }
};

extern "C" {
BFCAllocator* make(size_t capacity, size_t limit, int growth, int collect) {
  BFCAllocator::Options options;
  options.allow_growth = growth;
  options.garbage_collection = collect;
  options.allow_retry_on_failure = false;
  return new BFCAllocator(std::make_unique<MadeUpMemory>(capacity), limit, "GPU_0_bfc", options);
}
uint64_t allocate(BFCAllocator* a, size_t n) { return reinterpret_cast<uint64_t>(a->AllocateRaw(1, n)); }
void deallocate(BFCAllocator* a, uint64_t address) { a->DeallocateRaw(reinterpret_cast<void*>(address)); }
void clear_stats(BFCAllocator* a) { a->ClearStats(); }
void stats(BFCAllocator* a, int64_t* out) {
  auto s = *a->GetStats();
  out[0] = s.num_allocs, out[1] = s.bytes_in_use, out[2] = s.peak_bytes_in_use, out[3] = s.largest_alloc_size;
}
const char* memory_map(BFCAllocator* a, size_t* size) {
  static std::string text;
  text = a->RecordMemoryMap().SerializeAsString();
  *size = text.size();
  return text.data();
}
}
"""
MIB = 1 << 20


class TensorFlows:
    """TensorFlow's allocator with the questions that are compared."""

    def __init__(self, native, options):
        self.native, self.pointer = native, native.make(*options)

    def allocate(self, nbytes):
        return self.native.allocate(self.pointer, nbytes) or None

    def deallocate(self, address):
        self.native.deallocate(self.pointer, address)

    def clear_stats(self):
        self.native.clear_stats(self.pointer)

    def counters(self):
        out = (ctypes.c_int64 * 4)()
        self.native.stats(self.pointer, out)
        return list(out)

    def chunks(self):
        from tensorflow.core.protobuf.bfc_memory_map_pb2 import MemoryDump

        size = ctypes.c_size_t()
        text = self.native.memory_map(self.pointer, ctypes.byref(size))
        dump = MemoryDump.FromString(ctypes.string_at(text, size.value))
        return sorted([c.address, c.size, c.requested_size if c.in_use else -1, c.bin] for c in dump.chunk)


class Ours:
    """Our allocator with the same questions."""

    def __init__(self, options):
        from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
        from gpuplace.runtime.memory.device_memory import DeviceMemory

        class Memory(DeviceMemory):
            def allocate(self, nbytes):
                if nbytes <= 4096:
                    self.capacity = max(self.capacity, self.bytes_in_use + nbytes)
                return super().allocate(nbytes)

        capacity, limit, growth, collect = options
        self.allocator = BFCAllocator(
            Memory(capacity),
            limit,
            allow_growth=growth,
            garbage_collection=collect,
            retry_wait_ms=0,
            release="2.21",
            environ={},
        )
        self.allocate = self.allocator.allocate
        self.deallocate = self.allocator.deallocate
        self.clear_stats = self.allocator.clear_stats

    def counters(self):
        s = self.allocator.stats()
        return [s.num_allocs, s.bytes_in_use, s.peak_bytes_in_use, s.largest_alloc_size]

    def chunks(self):
        chunks = self.allocator.chunks()
        return sorted([c.address, c.size, c.requested_size if c.in_use else -1, c.bin_num] for c in chunks)


def compile_native():
    import tensorflow as tf

    where = os.path.dirname(tf.__file__)
    folder = tempfile.mkdtemp()
    source, library = os.path.join(folder, "bfc.cc"), os.path.join(folder, "bfc.so")
    Path(source).write_text(NATIVE)
    command = ["g++", "-shared", "-fPIC", "-O1", "-w", "-DNDEBUG", source, "-o", library]
    command += [*tf.sysconfig.get_compile_flags(), "-L" + where, "-l:libtensorflow_cc.so.2"]
    subprocess.run([*command, "-l:libtensorflow_framework.so.2", "-Wl,-rpath," + where], check=True)
    native = ctypes.CDLL(library)
    size, pointer = ctypes.c_uint64, ctypes.c_void_p
    for name, result, arguments in [
        ("make", pointer, [size, size, ctypes.c_int, ctypes.c_int]),
        ("allocate", size, [pointer, size]),
        ("deallocate", None, [pointer, size]),
        ("clear_stats", None, [pointer]),
        ("stats", None, [pointer, ctypes.POINTER(ctypes.c_int64)]),
        ("memory_map", pointer, [pointer, ctypes.POINTER(ctypes.c_size_t)]),
    ]:
        function = getattr(native, name)
        function.restype, function.argtypes = result, arguments
    return native


def random_options(draw):
    limit = draw.choice([MIB, 8 * MIB, 64 * MIB - 100, 1 << 30, (1 << 30) + 77, 4 << 30])
    capacity = draw.choice([limit + 256, limit + 256, limit * 10 // 9, limit * 6 // 10, limit // 3])
    return capacity, limit, draw.random() < 0.6, draw.random() < 0.6


def random_trace(draw, options, allocator, length):
    """Steps ``["alloc", bytes, address or None]``, ``["free", address]`` and ``["clear"]``, made while they are run."""
    steps, live, scale = [], [], draw.choice([12, 16, 20, 24, 28])
    limit = options[1]
    for _ in range(length):
        kind = draw.random()
        if kind < 0.02:
            allocator.clear_stats()
            steps.append(["clear"])
        elif kind < 0.45 and live:
            address = live.pop(draw.randrange(len(live)))
            allocator.deallocate(address)
            steps.append(["free", address])
        else:
            nbytes = int(2 ** draw.uniform(0, scale))
            if draw.random() < 0.1:
                nbytes = draw.choice([0, 255, 256, 257, limit // 2, limit, limit + 1])
            address = allocator.allocate(nbytes)
            steps.append(["alloc", nbytes, address])
            if address is not None:
                live.append(address)
    return steps


def replay(steps, allocator):
    """The first step answered otherwise, or None."""
    for number, (kind, *rest) in enumerate(steps):
        if kind == "clear":
            allocator.clear_stats()
        elif kind == "free":
            allocator.deallocate(rest[0])
        elif allocator.allocate(rest[0]) != rest[1]:
            return number
    return None


def compare(native, seconds, seed):
    draw, end, traces, failures = random.Random(seed), time.monotonic() + seconds, 0, 0
    logging.disable(logging.CRITICAL)
    while time.monotonic() < end:
        options = random_options(draw)
        theirs, ours = TensorFlows(native, options), Ours(options)
        steps = random_trace(draw, options, theirs, draw.randrange(5, 200))
        wrong = replay(steps, ours)
        traces += 1
        if wrong is not None or theirs.counters() != ours.counters() or theirs.chunks() != ours.chunks():
            failures += 1
            print("differs:", options, "at", wrong, steps)
    print(f"{traces} traces, {failures} differ")
    return failures


def record(native, path):
    draw, traces = random.Random(2016), []
    while len(traces) < 40:
        options = random_options(draw)
        allocator = TensorFlows(native, options)
        steps = random_trace(draw, options, allocator, 40)
        traces.append(
            {
                "options": options,
                "steps": steps,
                "counters": allocator.counters(),
                "chunks": allocator.chunks(),
            }
        )
    rows = ",\n".join(json.dumps(trace, separators=(",", ":")) for trace in traces)
    Path(path).write_text(f"[\n{rows}\n]\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?")
    parser.add_argument("--compare", type=float, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    native = compile_native()
    if arguments.file:
        record(native, arguments.file)
    if arguments.compare:
        sys.exit(bool(compare(native, arguments.compare, arguments.seed)))


if __name__ == "__main__":
    main()
