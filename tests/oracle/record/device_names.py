"""Ask TensorFlow how it reads, prints, matches and merges device names: tests/device/data/device_names.json.

    python tests/oracle/record/device_names.py FILE               # 2.21.0: DeviceSpec and, with g++, the C++ side
    python tests/oracle/record/device_names.py FILE --spec-only   # 1.15.5 on Python 3.7: adds its DeviceSpec to FILE

The questions come from a generator with a fixed seed, so both TensorFlows get the same ones.
"""

from __future__ import print_function

import argparse
import ctypes
import json
import os
import random
import subprocess
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

NATIVE = r"""
#include <cstring>
#include "absl/strings/str_cat.h"
#include "tensorflow/core/util/device_name_utils.h"
using namespace tensorflow;
using Name = DeviceNameUtils::ParsedName;

static std::string Dump(const Name& n) {
  auto part = [](bool has, const std::string& text) { return has ? text : std::string("~"); };
  return absl::StrCat(part(n.has_job, n.job), "|", part(n.has_replica, absl::StrCat(n.replica)), "|",
                      part(n.has_task, absl::StrCat(n.task)), "|", part(n.has_type, n.type), "|",
                      part(n.has_id, absl::StrCat(n.id)));
}

extern "C" char* parse(const char* text) {
  Name n;
  if (!DeviceNameUtils::ParseFullName(text, &n)) return strdup("refused\n");
  return strdup(absl::StrCat(Dump(n), "\n", DeviceNameUtils::ParsedNameToString(n)).c_str());
}

extern "C" char* merge(const char* one, const char* two, int kind) {
  Name a, b;
  if (!DeviceNameUtils::ParseFullName(one, &a)) return strdup("refused");
  if (!DeviceNameUtils::ParseFullName(two, &b)) return strdup("refused");
  absl::Status s;
  switch (kind) {
    case 0: s = DeviceNameUtils::MergeDevNames(&a, b, false); break;
    case 1: s = DeviceNameUtils::MergeDevNames(&a, b, true); break;
    case 2: s = DeviceNameUtils::MergeOverrideDevNames(&a, b); break;
    case 3: DeviceNameUtils::MergeUnsetDevNames(&a, b); break;
    case 4: DeviceNameUtils::EnsureSpecification(&a, b); break;
    case 5: return strdup(DeviceNameUtils::AreCompatibleDevNames(a, b) ? "yes" : "no");
    case 6: return strdup(DeviceNameUtils::IsSpecification(a, b) ? "yes" : "no");
    case 7: return strdup(DeviceNameUtils::IsSameAddressSpace(a, b) ? "yes" : "no");
  }
  return strdup(s.ok() ? Dump(a).c_str() : absl::StrCat("ERR ", s.message()).c_str());
}
"""

KINDS = [
    "MergeDevNames",
    "MergeDevNames soft",
    "MergeOverrideDevNames",
    "MergeUnsetDevNames",
    "EnsureSpecification",
    "AreCompatibleDevNames",
    "IsSpecification",
    "IsSameAddressSpace",
]
FAMILIAR = (
    "/cpu:0 /gpu:1 gpu:0 /GPU:0 :/gpu:0 //cpu:0 /device:gpu:* /device:GPU:* / /gpu:0/ /job:ps /gpu:0/cpu:0"
    " /gpu:01 /gpu /tpu:0 /device:XLA_CPU:0 /job:a/task:1 /device:GPU /device:*:1 /device:* /job:*"
    " /gpu:4294967297 /gpu:2147483648 /job:w-1"
).split() + [""]
PIECES = (
    "/job: /replica: /task: /device: /cpu: /gpu: /GPU: / * 0 1 01 99999999999999999999 ps worker_1 w.1 GPU gpu"
    " CPU TPU : -1 /tpu: // device: job: localhost /device:GPU:0 /device:gpu:1 /cpu:0 /gpu gpu:0 /task:x /Gpu:0"
    " /XLA_CPU:0"
).split() + [" "]
PARTS = (
    "/job:ps /job:a /job:* /replica:0 /replica:1 /task:0 /task:2 /task:* /device:GPU:0 /device:GPU:1 /device:CPU:0"
    " /device:GPU /device:GPU:* /device:* /device:*:1 /gpu:0 /cpu:1 /device:gpu:0"
).split()


def questions():
    """Strings to parse, pairs of names to merge, pairs of specifications."""
    draw = random.Random(2015)

    def below(number):  # the same in Python 3.7 and 3.11
        return int(draw.random() * number)

    def joined(pieces, most):
        return "".join(pieces[below(len(pieces))] for _ in range(below(most + 1)))

    texts = sorted(
        set(FAMILIAR + [joined(PIECES, 5) for _ in range(350)] + [joined(PARTS, 5) for _ in range(150)])
    )
    merges = [(joined(PARTS, 4), joined(PARTS, 4)) for _ in range(400)]
    specs = [(one, two) for one in FAMILIAR[:12] for two in FAMILIAR[:8]]
    specs += [(joined(PIECES, 3), joined(PIECES, 2)) for _ in range(300)]
    return texts, merges, specs


def ask_specs(pairs):
    from tensorflow.python.framework import device, device_spec

    spec_class = device_spec.DeviceSpecV1

    class Node(object):
        pass

    def answer(function):
        try:
            return function()
        except ValueError as error:
            return "ERR %s %s" % (type(error).__name__, error)

    def in_place(one, two):
        spec = spec_class.from_string(one)
        spec.merge_from(spec_class.from_string(two))
        return spec.to_string()

    def by_function(one, two):
        node = Node()
        node.device = two
        return device.merge_device(spec_class.from_string(one)).shortcut_string_merge(node)

    def merged(one, two):
        return spec_class.from_string(one).make_merged_spec(spec_class.from_string(two)).to_string()

    rows = []
    for one, two in pairs:
        answers = [answer(lambda: spec_class.from_string(one).to_string())]  # noqa: B023
        answers += [answer(lambda: ask(one, two)) for ask in (in_place, merged, by_function)]  # noqa: B023
        rows.append([one, two, answers])
    return rows


def ask_native(texts, merges):
    import tensorflow as tf

    where = os.path.dirname(tf.__file__)
    with tempfile.TemporaryDirectory() as folder:
        source, library = os.path.join(folder, "names.cc"), os.path.join(folder, "names.so")
        with open(source, "w") as file:
            file.write(NATIVE)
        command = ["g++", "-shared", "-fPIC", "-O1", "-w", "-DNDEBUG", source, "-o", library]
        command += tf.sysconfig.get_compile_flags() + ["-L" + where, "-l:libtensorflow_cc.so.2"]
        subprocess.check_call(command + ["-l:libtensorflow_framework.so.2", "-Wl,-rpath," + where])
        native = ctypes.CDLL(library)
        native.parse.restype = native.merge.restype = ctypes.c_char_p
        parsed = [[text] + native.parse(text.encode()).decode().split("\n") for text in texts]
        merged = []
        for one, two in merges:
            answers = [native.merge(one.encode(), two.encode(), kind).decode() for kind in range(len(KINDS))]
            merged.append([one, two] + [{"yes": True, "no": False}.get(said, said) for said in answers])
    return parsed, merged


def dump(recorded):
    """JSON with one row a line."""

    def rows(items):
        return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in items) + "]"

    tables = {'"%s"' % name: rows(recorded[name]) for name in ("parse", "merge") if name in recorded}
    specs = ",\n".join(
        '"%s": %s' % (release, rows(items)) for release, items in sorted(recorded["specs"].items())
    )
    return (
        "{"
        + ",\n".join(name + ": " + table for name, table in sorted(tables.items()))
        + ((",\n" if tables else "") + '"specs": {' + specs + "}}")
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--spec-only", action="store_true")
    arguments = parser.parse_args()
    recorded = {"specs": {}}
    if os.path.exists(arguments.file):
        with open(arguments.file) as file:
            recorded = json.load(file)
    texts, merges, specs = questions()
    recorded["specs"]["1.15" if arguments.spec_only else "2.21"] = ask_specs(specs)
    if not arguments.spec_only:
        recorded["parse"], recorded["merge"] = ask_native(texts, merges)
        recorded["merge"].insert(0, ["one", "two"] + KINDS)
    with open(arguments.file, "w") as file:
        file.write(dump(recorded) + "\n")


if __name__ == "__main__":
    main()
