"""TensorFlow 2.21's own placer, asked about machines that do not exist.

Needs `tensorflow==2.21.0` (the wheel for x86-64 registers every GPU kernel, with or without a GPU) and g++. A small C++
program against the wheel's headers makes devices that exist in name only and hands the graph to
`GraphExecutionState::MakeForBaseGraph`, as a local session does; for graphs with nodes that are already assigned
it takes that function's steps itself: assign, run the passes that come before placing, place.

    PYTHONPATH=. TENSORFLOW_PYTHON tests/oracle/tensorflow_placer.py

reads requests and answers them as `tensorflow_placer_1_15` does, for programs that run without TensorFlow.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = r"""
#include <chrono>
#include <cstring>
#include <sstream>
#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/common_runtime/graph_execution_state.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/common_runtime/placer.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/public/session_options.h"
namespace tf = tensorflow;

struct Named : tf::Device {
  bool local;
  Named(const tf::DeviceAttributes& a, bool local) : tf::Device(nullptr, a), local(local) {}
  bool IsLocal() const override { return local; }
  absl::Status Sync() override { return absl::OkStatus(); }
  tf::Allocator* GetAllocator(tf::AllocatorAttributes) override { return nullptr; }
};

struct Machine {
  tf::DeviceSet set;
  std::vector<std::unique_ptr<tf::Device>> owned;
  explicit Machine(const char* names) {
    std::istringstream lines(names);
    std::string name;
    while (std::getline(lines, name)) {
      tf::DeviceNameUtils::ParsedName parsed;
      tf::DeviceNameUtils::ParseFullName(name, &parsed);
      tf::DeviceAttributes a;
      a.set_name(name);
      a.set_device_type(parsed.type);
      // Devices of other processes are remote, as seen from the first one's.
      bool local = owned.empty() || tf::DeviceNameUtils::IsSameAddressSpace(parsed, owned[0]->parsed_name());
      owned.push_back(std::make_unique<Named>(a, local));
      set.AddDevice(owned.back().get());
    }
    if (!owned.empty()) set.set_client_device(owned[0].get());
  }
};

static std::string Listed(const tf::Graph& graph) {
  std::string out = "placed\n";
  for (const tf::Node* n : graph.op_nodes()) out += n->name() + "\t" + n->assigned_device_name() + "\n";
  return out;
}

static std::string Failed(const absl::Status& s) {
  return "error\n" + std::to_string(s.raw_code()) + "\n" + std::string(s.message());
}

static std::string Place(const char* data, size_t size, const char* names, bool soft, const char* assigned,
                         const char* preferred, const char* config, size_t config_size) {
  tf::GraphDef def;
  if (!def.ParseFromArray(data, size)) return "error\n3\nnot a GraphDef";
  Machine machine(names);
  tf::SessionOptions session;
  if (!session.config.ParseFromArray(config, config_size)) return "error\n3\nnot a ConfigProto";
  session.config.set_allow_soft_placement(soft);
  if (!*assigned && !*preferred) {
    tf::GraphExecutionStateOptions options;
    options.device_set = &machine.set;
    options.session_options = &session;
    std::unique_ptr<tf::GraphExecutionState> state;
    absl::Status s = tf::GraphExecutionState::MakeForBaseGraph(std::move(def), options, &state);
    return s.ok() ? Listed(*state->full_graph()) : Failed(s);
  }
  auto made = std::make_unique<tf::Graph>(tf::OpRegistry::Global());
  absl::Status s = tf::ConvertGraphDefToGraph(tf::GraphConstructorOptions(), std::move(def), made.get());
  if (!s.ok()) return Failed(s);
  std::istringstream lines(assigned);
  std::string line;
  while (std::getline(lines, line)) {
    size_t tab = line.find('\t');
    for (tf::Node* n : made->op_nodes())
      if (n->name() == line.substr(0, tab)) n->set_assigned_device_name(line.substr(tab + 1));
  }
  const tf::Device* local = *preferred ? machine.set.FindDeviceByName(preferred) : nullptr;
  tf::FunctionLibraryDefinition library(made->flib_def());
  tf::GraphOptimizationPassOptions options;
  options.session_options = &session;
  options.graph = &made;
  options.flib_def = &library;
  options.device_set = &machine.set;
  s = tf::OptimizationPassRegistry::Global()->RunGrouping(tf::OptimizationPassRegistry::PRE_PLACEMENT, options);
  if (!s.ok()) return Failed(s);
  tf::Placer placer(made.get(), "", &library, &machine.set, local, soft, false);
  s = placer.Run(options);
  return s.ok() ? Listed(*made) : Failed(s);
}

extern "C" char* ask(const char* data, size_t size, const char* names, int soft, const char* assigned,
                     const char* preferred, const char* config, size_t config_size) {
  return strdup(Place(data, size, names, soft, assigned, preferred, config, config_size).c_str());
}

extern "C" double time_placer(const char* data, size_t size, const char* names, int soft) {
  tf::GraphDef def;
  if (!def.ParseFromArray(data, size)) return -1;
  Machine machine(names);
  tf::Graph graph(tf::OpRegistry::Global());
  if (!tf::ConvertGraphDefToGraph(tf::GraphConstructorOptions(), std::move(def), &graph).ok()) return -2;
  auto start = std::chrono::steady_clock::now();
  tf::Placer placer(&graph, "", &graph.flib_def(), &machine.set, nullptr, soft, false);
  if (!placer.Run(tf::GraphOptimizationPassOptions()).ok()) return -3;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
"""

LOCAL = "/job:localhost/replica:0/task:0/device:"


def local_devices(cpus: int, gpus: int) -> list[str]:
    """Full names of a local machine's devices."""
    return [f"{LOCAL}{kind}:{i}" for kind, count in (("CPU", cpus), ("GPU", gpus)) for i in range(count)]


@cache
def _library() -> Any:
    """The C++ above, compiled once per version of it and of TensorFlow."""
    # not when this is imported: programs that only ask another interpreter may have simulated GPUs
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow as tf

    tag = hashlib.sha256((SOURCE + tf.__version__ + tf.__file__).encode()).hexdigest()[:12]
    target = Path(tempfile.gettempdir()) / f"gpuplace-oracle-{tag}.so"
    if not target.exists():
        where = str(Path(tf.__file__).parent)
        with tempfile.TemporaryDirectory() as folder:
            code, built = Path(folder) / "oracle.cc", Path(folder) / "oracle.so"
            code.write_text(SOURCE)
            flags = ["-shared", "-fPIC", "-O1", "-w", "-DNDEBUG", *tf.sysconfig.get_compile_flags()]
            libraries = ["-L" + where, "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]
            command = ["g++", str(code), "-o", str(built), *flags, *libraries, "-Wl,-rpath," + where]
            subprocess.run(command, check=True)
            os.replace(built, target)
    library = ctypes.CDLL(str(target))
    library.ask.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    library.ask.restype = ctypes.c_void_p
    library.free.argtypes = [ctypes.c_void_p]
    library.time_placer.argtypes = library.ask.argtypes[:4]
    library.time_placer.restype = ctypes.c_double
    return library


def ask(
    graph: bytes,
    devices: Sequence[str],
    soft: bool = False,
    assigned: Mapping[str, str] | None = None,
    preferred: str = "",
    config: bytes = b"",
) -> dict[str, str] | tuple[str, str]:
    """Node name -> full device name, or (error class, message).

    Args:
        graph: a serialised GraphDef.
        devices: full device names, the client's first.
        soft: whether soft placement is allowed.
        assigned: node name -> device that it has already.
        preferred: the default local device.
        config: a serialised ConfigProto, for what the passes before placing read of it.
    """
    library = _library()
    given = "".join(f"{node}\t{device}\n" for node, device in (assigned or {}).items())
    pointer = library.ask(
        graph,
        len(graph),
        "\n".join(devices).encode(),
        soft,
        given.encode(),
        preferred.encode(),
        config,
        len(config),
    )
    kind, _, rest = ctypes.string_at(pointer).decode().partition("\n")
    library.free(pointer)
    if kind == "error":
        code, _, message = rest.partition("\n")
        return error_class(int(code)), message
    return dict(line.split("\t") for line in rest.splitlines())  # type: ignore[misc]


def seconds(graph: bytes, devices: Sequence[str], soft: bool = False, repeat: int = 5) -> float:
    """Fastest of `repeat` runs of the placer alone, without parsing and graph building."""
    names = "\n".join(devices).encode()
    runs = [float(_library().time_placer(graph, len(graph), names, soft)) for _ in range(repeat)]
    if min(runs) < 0:
        raise ValueError("TensorFlow does not place this graph: ask() says why")
    return min(runs)


@cache
def error_class(code: int) -> str:
    """Name of the exception class of a status code."""
    from gpuplace import errors

    return errors.exception_type_from_error_code(code).__name__


def main() -> None:
    """Serves requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        graph, config = (base64.b64decode(request[key]) for key in ("graph", "config"))
        print(json.dumps(ask(graph, request["devices"], request["soft"], config=config)), flush=True)


if __name__ == "__main__":
    main()
