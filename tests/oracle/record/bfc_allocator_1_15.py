"""Drive TensorFlow 1.15.5's own BFC allocator, memory log included: tests/data/bfc_traces_1_15.json.

    python tests/oracle/record/bfc_allocator_1_15.py FILE [--traces N] [--seed S]

Needs tensorflow-gpu 1.15.5 on Python 3.7, and g++. Device memory is that of ``record_bfc_allocator.py``.
"""

from __future__ import print_function

import argparse
import ctypes
import json
import os
import random
import re
import subprocess
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"

NATIVE = r"""
#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#define private public
#include "tensorflow/core/common_runtime/bfc_allocator.h"
#undef private
using namespace tensorflow;
constexpr uint64 kAlignment = 2 << 20;

struct MadeUpMemory : SubAllocator {
  size_t capacity, used = 0;
  std::set<std::pair<uint64, uint64>> regions;
  explicit MadeUpMemory(size_t c) : SubAllocator({}, {}), capacity(c) {}
  void* Alloc(size_t, size_t n) override {
    if (n <= 4096 && n > capacity - used) capacity = used + n;
    if (n == 0 || n > capacity - used) return nullptr;
    uint64 address = 0x7F0000000000ull;
    for (auto& region : regions) {
      if (address + n <= region.first) break;
      address = (region.second + kAlignment - 1) / kAlignment * kAlignment;
    }
    regions.insert({address, address + n});
    used += n;
    return reinterpret_cast<void*>(address);
  }
  void Free(void* p, size_t n) override {
    regions.erase({reinterpret_cast<uint64>(p), reinterpret_cast<uint64>(p) + n});
    used -= n;
  }
};

extern "C" {
BFCAllocator* make(size_t capacity, size_t limit, int growth, int collect) {
  return new BFCAllocator(new MadeUpMemory(capacity), limit, growth, "GPU_0_bfc", collect);
}
uint64 allocate(BFCAllocator* a, size_t n) {
  AllocationAttributes attributes;
  attributes.no_retry_on_failure = true;
  return reinterpret_cast<uint64>(a->AllocateRaw(1, n, attributes));
}
void deallocate(BFCAllocator* a, uint64 address) { a->DeallocateRaw(reinterpret_cast<void*>(address)); }
void clear_stats(BFCAllocator* a) { a->ClearStats(); }
void stats(BFCAllocator* a, int64* out) {
  auto s = *a->GetStats();
  out[0] = s.num_allocs, out[1] = s.bytes_in_use, out[2] = s.peak_bytes_in_use, out[3] = s.largest_alloc_size;
}
void log_memory(BFCAllocator* a, size_t n) {
  mutex_lock lock(a->lock_);
  a->DumpMemoryLog(n);
}
const char* picture(BFCAllocator* a) {
  static std::string text;
  mutex_lock lock(a->lock_);
  text = a->RenderOccupancy();
  return text.c_str();
}
uint64 next_region_size(BFCAllocator* a) { return a->curr_region_allocation_bytes_; }
}
"""
MIB = 1 << 20
PREFIX = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+: [IWEF] \S+\] ")


def compile_native():
    import tensorflow as tf

    folder = tempfile.mkdtemp()
    source, library = os.path.join(folder, "bfc.cc"), os.path.join(folder, "bfc.so")
    with open(source, "w") as file:
        file.write(NATIVE)
    flags = tf.sysconfig.get_compile_flags() + tf.sysconfig.get_link_flags()
    command = [
        "g++",
        "-std=c++11",
        "-shared",
        "-fPIC",
        "-O1",
        "-w",
        "-DNDEBUG",
        source,
        "-o",
        library,
    ] + flags
    subprocess.check_call(command + ["-Wl,-rpath," + tf.sysconfig.get_lib()])
    native = ctypes.CDLL(library)
    size, pointer = ctypes.c_uint64, ctypes.c_void_p
    for name, result, arguments in [
        ("make", pointer, [size, size, ctypes.c_int, ctypes.c_int]),
        ("allocate", size, [pointer, size]),
        ("deallocate", None, [pointer, size]),
        ("clear_stats", None, [pointer]),
        ("stats", None, [pointer, ctypes.POINTER(ctypes.c_int64)]),
        ("log_memory", None, [pointer, size]),
        ("picture", ctypes.c_char_p, [pointer]),
        ("next_region_size", size, [pointer]),
    ]:
        function = getattr(native, name)
        function.restype, function.argtypes = result, arguments
    return native


def captured(function):
    """What ``function`` writes to the process's standard error, without TensorFlow's prefixes."""
    saved = os.dup(2)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 2)
        try:
            function()
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        file.seek(0)
        return "\n".join(PREFIX.sub("", line) for line in file.read().split("\n")).rstrip("\n")


def record(native, draw, length):
    limit = draw.choice([MIB, 8 * MIB, 64 * MIB - 100, 1 << 30, (1 << 30) + 77, 4 << 30])
    capacity = draw.choice([limit + 256, limit + 256, limit * 10 // 9, limit * 6 // 10, limit // 3])
    options = [capacity, limit, draw.random() < 0.6, draw.random() < 0.6]
    allocator, steps, live = native.make(*options), [], []
    scale = draw.choice([12, 16, 20, 24, 28])
    for _ in range(length):
        kind = draw.random()
        if kind < 0.02:
            native.clear_stats(allocator)
            steps.append(["clear"])
        elif kind < 0.45 and live:
            address = live.pop(draw.randrange(len(live)))
            native.deallocate(allocator, address)
            steps.append(["free", address])
        else:
            nbytes = int(2 ** draw.uniform(0, scale))
            if draw.random() < 0.1:
                nbytes = draw.choice([0, 255, 256, 257, limit // 2, limit, limit + 1])
            address = native.allocate(allocator, nbytes) or None
            steps.append(["alloc", nbytes, address])
            if address is not None:
                live.append(address)
    counters = (ctypes.c_int64 * 4)()
    native.stats(allocator, counters)
    wanted = (draw.choice([256, 4096, MIB, limit]) + 255) // 256 * 256
    return {
        "options": options,
        "steps": steps,
        "counters": list(counters),
        "next_region_size": native.next_region_size(allocator),
        "wanted": wanted,
        "log": captured(lambda: native.log_memory(allocator, wanted)),
        "picture": native.picture(allocator).decode(),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--traces", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1915)
    arguments = parser.parse_args()
    native, draw = compile_native(), random.Random(arguments.seed)
    rows = [json.dumps(record(native, draw, 30), separators=(",", ":")) for _ in range(arguments.traces)]
    with open(arguments.file, "w") as file:
        file.write("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
