"""Ask TensorFlow itself which kernel serves a node on a device type, and what it keeps in host memory.

    python tests/oracle/kernels_of_tensorflow.py QUESTIONS.json ANSWERS.json

runs under TensorFlow 2.21 and 1.15.5 (gpuplace is not needed) and takes a list of ``[op, attrs, device types]`` with
the attributes as JSON-mapped AttrValue messages. The answer to each is a list, one entry per device type, of
``{"kernel": row in the notation of the data files or null, "error": text or null, "inputs": "dh", "outputs": "d"}``,
a letter per tensor: h for host memory. The few lines of C++ are compiled against the headers of the installed wheel.
"""

from __future__ import print_function

import ctypes
import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import extract_catalogue

NATIVE = r"""
#include <cstdlib>
#include <cstring>
#include <string>
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/memory_types.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
using namespace tensorflow;

static char* Give(const std::string& text, size_t* size) {
  *size = text.size();
  char* copy = static_cast<char*>(malloc(text.size() + 1));
  memcpy(copy, text.data(), text.size() + 1);
  return copy;
}

extern "C" char* kernel_of(const char* data, size_t length, const char* device_type, size_t* size) {
  NodeDef node;
  node.ParseFromArray(data, length);
  const KernelDef* kernel = nullptr;
  auto status = FindKernelDef(DeviceType(device_type), node, &kernel, nullptr);
  if (!status.ok()) return Give("E" + status.ToString(), size);
  return Give("K" + kernel->SerializeAsString(), size);
}

extern "C" char* memory_of(const char* data, size_t length, const char* device_type, size_t* size) {
  NodeDef node;
  node.ParseFromArray(data, length);
  MemoryTypeVector inputs, outputs;
  auto status = MemoryTypesForNode(OpRegistry::Global(), DeviceType(device_type), node, &inputs, &outputs);
  if (!status.ok()) return Give("E" + status.ToString(), size);
  std::string text;
  for (MemoryType type : inputs) text += type == HOST_MEMORY ? 'h' : 'd';
  text += '|';
  for (MemoryType type : outputs) text += type == HOST_MEMORY ? 'h' : 'd';
  return Give("M" + text, size);
}
"""


def native():
    import tensorflow as tf

    where = tf.sysconfig.get_lib()
    libraries = sorted(
        name
        for name in os.listdir(where)
        if name.startswith(("libtensorflow_framework.so.", "libtensorflow_cc.so."))
    )
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "kernels.cc"), "w") as stream:
        stream.write(NATIVE)
    library = os.path.join(folder, "kernels.so")
    command = [
        "g++",
        "-shared",
        "-fPIC",
        "-O1",
        "-w",
        "-DNDEBUG",
        "-o",
        library,
        os.path.join(folder, "kernels.cc"),
    ]
    command += tf.sysconfig.get_compile_flags() + ["-L" + where, "-Wl,-rpath," + where]
    subprocess.check_call(command + ["-l:" + name for name in libraries])
    lib = ctypes.CDLL(library)
    for function in (lib.kernel_of, lib.memory_of):
        function.restype = ctypes.c_void_p
        function.argtypes = [
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_char_p,
            ctypes.POINTER(ctypes.c_size_t),
        ]
    lib.free.argtypes = [ctypes.c_void_p]

    def call(function, node, device_type):
        size = ctypes.c_size_t()
        pointer = function(node, len(node), device_type.encode(), ctypes.byref(size))
        answer = ctypes.string_at(pointer, size.value)
        lib.free(pointer)
        return answer[:1].decode(), answer[1:]

    return lib, call


def answer(questions):
    from google.protobuf import json_format
    from tensorflow.core.framework import kernel_def_pb2, node_def_pb2

    lib, call = native()
    for op, attrs, device_types in questions:
        node = node_def_pb2.NodeDef(name="n", op=op)
        for name, value in attrs.items():
            json_format.ParseDict(value, node.attr[name])
        data = node.SerializeToString()
        rows = []
        for device_type in device_types:
            row = {"kernel": None, "error": None, "inputs": None, "outputs": None}
            kind, payload = call(lib.kernel_of, data, device_type)
            if kind == "K":
                row["kernel"] = extract_catalogue.kernel_line(kernel_def_pb2.KernelDef.FromString(payload))
            else:
                row["error"] = payload.decode("utf-8", "replace")
            kind, payload = call(lib.memory_of, data, device_type)
            if kind == "M":
                row["inputs"], row["outputs"] = payload.decode().split("|")
            rows.append(row)
        yield rows


def main():
    with open(sys.argv[1]) as stream:
        questions = json.load(stream)
    with open(sys.argv[2], "w") as stream:
        json.dump(list(answer(questions)), stream)


if __name__ == "__main__":
    main()
