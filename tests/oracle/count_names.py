"""Count the names of TensorFlow 1 in programs, and list the most used ones with what gpuplace has of them.

    TENSORFLOW_PYTHON tests/oracle/count_names.py FOLDER... --write tests/data/used_names.csv
    python tests/oracle/count_names.py [--missing]

The first form runs under TensorFlow 1.15 and without gpuplace. It reads every Python file below the folders, of Python
2 too, and the cells of every notebook, follows what the program calls TensorFlow and its modules (``import tensorflow
as tf``, ``from tensorflow.contrib import rnn``) and counts every dotted name up to the first thing that is no module
and no class: of ``tf.train.AdamOptimizer(0.1).minimize(loss)``, ``train.AdamOptimizer``; of ``tf.float32.name``,
``float32``. Left out are names that TensorFlow 1.15 does not have, those of 0.x and 2.x among them, those in
``tensorflow.python``, which is not public, and files whose path says that they are for another library or release.
Only names and numbers of uses are written, of the 400 most used.

The second form prints the table: name, uses, and ``present`` or the text of gpuplace's error.
"""

from __future__ import print_function

import argparse
import collections
import csv
import inspect
import io
import json
import keyword
import os
import re
import sys
import tokenize

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "used_names.csv")
LISTED = 400
OTHERS = re.compile(r"tensorflow_v2|\btf2|pytorch|mxnet", re.IGNORECASE)
SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)


def tokens(text):
    """The tokens of a program without comments, as far as it can be read."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token[0] not in SKIPPED:
                found.append((token[0], token[1]))
    except (tokenize.TokenError, IndentationError):  # a Python 2 program can end so; what was read counts
        pass
    return found


def dotted(found, start):
    """A name with its attributes from a token on, and the token after it."""
    parts, here = [found[start][1]], start + 1
    while here + 1 < len(found) and found[here][1] == "." and found[here + 1][0] == tokenize.NAME:
        parts.append(found[here + 1][1])
        here += 2
    return parts, here


def imported(found, start, stem):
    """The names that an import statement binds, as (name in the program, full path), and the token after it.

    ``stem`` is the module of ``from stem import ...``, or None for ``import ...``.
    """
    bound, here = [], start
    while here < len(found) and found[here][0] != tokenize.NEWLINE and found[here][1] != ";":
        if found[here][0] != tokenize.NAME:
            here += 1
            continue
        parts, here = dotted(found, here)
        path = parts if stem is None else stem + parts
        if here + 1 < len(found) and found[here][1] == "as":
            bound.append((found[here + 1][1], path))
            here += 2
        elif stem is None:
            bound.append((parts[0], parts[:1]))
            bound.append((None, parts))
        else:
            bound.append((parts[0], path))
    return bound, here


def uses(text):
    """Every path below ``tensorflow`` that a program names, as lists of parts without that first one."""
    found, names, here = tokens(text), {}, 0
    while here < len(found):
        kind, word = found[here]
        after_dot = here and found[here - 1][1] == "."
        if kind != tokenize.NAME or after_dot:
            here += 1
        elif word in ("import", "from") and here + 1 < len(found):
            stem, here = dotted(found, here + 1) if word == "from" else (None, here + 1)
            if word == "from":
                here += 1  # the word import
            bound, here = imported(found, here, stem)
            for name, path in bound:
                if path[0] != "tensorflow":
                    continue
                if name is not None:
                    names[name] = path
                if len(path) > 1:
                    yield path[1:]
        elif word in names and not keyword.iskeyword(word):
            parts, here = dotted(found, here)
            path = names[word] + parts[1:]
            if len(path) > 1 and (len(parts) > 1 or len(names[word]) > 1):
                yield path[1:]
        else:
            here += 1


def public_name(tensorflow, path):
    """The longest beginning of a path that is a public name of TensorFlow 1; "" if there is none."""
    while path[:2] == ["compat", "v1"]:
        path = path[2:]
    if not path or path[0] == "python":
        return ""
    value, known = tensorflow, []
    for part in path:
        if part.startswith("_") or not (inspect.ismodule(value) or inspect.isclass(value) or not known):
            break
        try:
            value = getattr(value, part)
        except AttributeError:
            return ""  # not of this release
        known.append(part)
    return ".".join(known)


def program(path):
    """The text of a Python file, or of a notebook's cells of code without their magic lines; "" if it is neither."""
    if not path.endswith((".py", ".ipynb")):
        return ""
    with io.open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if path.endswith(".py"):
        return text
    try:
        notebook = json.loads(text)
    except ValueError:  # cut off
        return ""
    cells = notebook.get("cells") or [
        cell for sheet in notebook.get("worksheets", ()) for cell in sheet["cells"]
    ]
    lines = []
    for cell in cells:
        if cell["cell_type"] == "code":
            lines += "".join(cell.get("source", cell.get("input", ""))).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!"))) + "\n"


def count(folders):
    """Uses of every public name in the programs below folders."""
    import tensorflow

    counts, files = collections.Counter(), 0
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in sorted(names):
                path = os.path.join(root, name)
                if OTHERS.search(os.path.relpath(path, folder)):
                    continue
                found = [public_name(tensorflow, used) for used in uses(program(path))]
                files += bool(found)
                counts.update(name for name in found if name)
    return counts, files


def write(counts, path):
    """The most used names into a file."""
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))[:LISTED]
    with io.open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("name", "uses"))
        writer.writerows(rows)


def used_names():
    """The most used names and how often each is used, the most used first."""
    with io.open(DATA, newline="") as file:
        return [(row["name"], int(row["uses"])) for row in csv.DictReader(file)]


def status(name):
    """``"present"``, or what gpuplace's error for a name says."""
    import gpuplace

    value = gpuplace
    try:
        for part in name.split("."):
            value = getattr(value, part)
    except AttributeError as error:
        return str(error)
    return "present"


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", help="folders of programs to count names in")
    parser.add_argument("--write", metavar="FILE", help="where the counts go")
    parser.add_argument("--missing", action="store_true", help="only the names that gpuplace does not have")
    options = parser.parse_args()
    if options.folders:
        if not options.write:
            parser.error("--write FILE says where the counts go")
        counts, files = count(options.folders)
        write(counts, options.write)
        print(files, "programs,", sum(counts.values()), "uses of", len(counts), "names")
        return
    rows = [(name, number, status(name)) for name, number in used_names()]
    for name, number, text in rows:
        if not options.missing or text != "present":
            print("%-48s %5d  %s" % (name, number, text))
    there = sum(number for _, number, text in rows if text == "present")
    everything = sum(number for _, number, _ in rows)
    print("%.1f %% of %d uses" % (100.0 * there / everything, everything), file=sys.stderr)


if __name__ == "__main__":
    main()
