"""The blocks of the reference pages, for Sphinx: see `topics` for how they are written.

Functions and classes are documented under the names that programs write, ``tf.nn.conv2d``, wherever they are defined.
Classes that no program names, such as the one that ``gpuplace.place`` returns, are found by asking for such an object.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import types
from functools import cache
from typing import Any

import topics
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx import addnodes
from sphinx.ext.napoleon import GoogleDocstring
from sphinx.util.docutils import SphinxRole

import gpuplace

RESULTS = "results"
"""The module that Sphinx finds the classes of results in; readers never see its name."""


@cache
def result_classes() -> dict[str, type]:
    """The classes of what the functions return, by their names."""
    with gpuplace.Graph().as_default() as graph:
        x = gpuplace.constant(1.0, name="x")
    placement = gpuplace.place(graph, machine="1x Tesla K40c")
    other = gpuplace.place(graph, machine="cpu")
    with gpuplace.Session(graph=graph) as session:
        found = [
            placement,
            placement.explain("x"),
            placement.blame(),
            placement.diff(other),
            placement.trace("x"),
            gpuplace.estimate(placement).findings,
            gpuplace.parse_log("x: (Const): /job:localhost/replica:0/task:0/device:CPU:0"),
            gpuplace.capture_log(),
            gpuplace.compare(graph, "x: (Const): /job:localhost/replica:0/task:0/device:CPU:0"),
            session.timeline(x),
            gpuplace.explore(graph, machine="cpu"),
            gpuplace.explore_rules(gpuplace.placeholder),
        ]
    return {type(one).__name__: type(one) for one in found}


def offer_public_names() -> None:
    """Lets Sphinx import ``tf.NAME`` and the classes of results."""
    sys.modules["tf"] = gpuplace
    results = types.ModuleType(RESULTS)
    vars(results).update(result_classes())
    sys.modules[RESULTS] = results


def resolve(full_name: str) -> Any:
    """The object behind ``tf.nn.conv2d`` or ``gpuplace.testing.place``."""
    first, *rest = full_name.split(".")
    found: Any = gpuplace
    for part in rest:
        if not hasattr(found, part):
            __import__(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


@cache
def first_names() -> dict[int, str]:
    """The first name in the pages of each object that has one."""
    found: dict[int, str] = {}
    for block in topics.blocks():
        for name in block.full_names:
            thing = resolve(name)
            if not _is_constant(thing):
                found.setdefault(id(thing), name)
    return found


def _is_constant(thing: Any) -> bool:
    return not (callable(thing) or isinstance(thing, types.ModuleType))


def _is_message(thing: Any) -> bool:
    return isinstance(thing, type) and hasattr(thing, "DESCRIPTOR")


def described(name: str, inherited: bool) -> list[str]:
    """The reStructuredText that documents one name."""
    thing = resolve(name)
    if isinstance(thing, types.ModuleType):
        first_line = (thing.__doc__ or "").partition("\n")[0]
        return [f".. py:data:: {name}", "", f"   A namespace. {first_line}", ""]
    first = first_names().get(id(thing), name)
    if first != name:
        what = "class" if isinstance(thing, type) else "function"
        signature = "" if isinstance(thing, type) else "(...)"
        return [f".. py:{what}:: {name}{signature}", "", f"   The same as :py:obj:`{first}`.", ""]
    if _is_message(thing):
        fields = ", ".join(f"``{field.name}``" for field in thing.DESCRIPTOR.fields)
        return [f".. py:class:: {name}", "", f"   A protocol buffer message of TensorFlow's. Fields: {fields}.", ""]
    if isinstance(thing, type):
        lines = [f".. autoclass:: {name}", "   :members:"]
        return [*lines, *(["   :inherited-members: Exception, Mapping"] if inherited else []), ""]
    if _is_constant(thing):
        value = repr(thing)
        shown = [f"   :value: {value}"] if len(value) < 40 and "<" not in value else []
        return [f".. py:data:: {name}", *shown, ""]
    return [f".. autofunction:: {name}", ""]


class _Block(Directive):
    """What the three kinds of blocks share: reStructuredText made from names, on pages of Markdown."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = False

    def rest(self) -> list[str]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        from docutils.statemachine import StringList

        source = self.state_machine.document["source"]
        lines = ["````{eval-rst}", *self.rest(), "````"]
        container = nodes.container()
        self.state.nested_parse(StringList(lines, source), self.content_offset, container)
        return container.children


class Names(_Block):
    """Functions, classes and constants with a prefix, ``tf`` where there is none."""

    option_spec = {"inherited": directives.flag}

    def rest(self) -> list[str]:
        prefix = self.arguments[0] if self.arguments else "tf"
        names = " ".join(self.content).split()
        return [line for name in names for line in described(f"{prefix}.{name}", "inherited" in self.options)]


class Namespace(_Block):
    """A namespace, with the names in it that are described elsewhere."""

    def rest(self) -> list[str]:
        (name,) = self.arguments
        module = resolve(name)
        public = getattr(module, "__all__", None) or [one for one in vars(module) if not one.startswith("_")]
        here = {full for block in topics.blocks() for full in block.full_names}
        links = []
        for one in sorted(public):
            thing = getattr(module, one)
            first = first_names().get(id(thing))
            if first and f"{name}.{one}" not in here and callable(thing):
                links.append(f":py:obj:`{one} <{first}>`")
        if not links:
            return [""]
        return [f"``{name}`` also has these, which are described elsewhere: {', '.join(links)}.", ""]


class Result(_Block):
    """A class that is got from a function, with some of its methods and attributes."""

    def rest(self) -> list[str]:
        (name,) = self.arguments
        members = ", ".join(" ".join(self.content).split())
        return [f".. autoclass:: {RESULTS}.{name}()", f"   :members: {members}", "   :undoc-members:", ""]


class Topics(_Block):
    """All names of some pages, as links: the table of contents of the reference."""

    def rest(self) -> list[str]:
        pages = " ".join(self.content).split()
        lines: list[str] = []
        for page in pages:
            found = [block for block in topics.blocks() if block.page == page]
            links = [f":py:obj:`{full}`" for block in found for full in block.full_names if block.kind == "names"]
            links += [f":py:obj:`{block.argument} <{RESULTS}.{block.argument}>`" for block in found if block.kind == "result"]
            lines += [f":doc:`{page}`", f"   {', '.join(links)}", ""]
        return lines


class Help(_Block):
    """What a command of the command line says about its options."""

    def rest(self) -> list[str]:
        (command,) = self.arguments
        shown = subprocess.run(
            [sys.executable, "-m", "gpuplace", command, "--help"],
            env=os.environ | {"COLUMNS": "92"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return [".. code-block:: text", "", *(f"   {line}" for line in shown.splitlines()), ""]


class _Named(SphinxRole):
    """Code in single backquotes: a link where it is a name that is documented."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        shown = nodes.literal(self.rawtext, self.text, classes=["py", "xref"])
        if not re.fullmatch(r"[A-Za-z_][\w.]*(\(\))?", self.text):
            return [shown], []
        link = addnodes.pending_xref(
            "", shown, refdomain="py", reftype="obj", reftarget=self.text.removesuffix("()"), refdoc=self.env.docname
        )
        link["py:module"] = self.env.ref_context.get("py:module")
        link["py:class"] = self.env.ref_context.get("py:class")
        return [link], []


def _hide_module_of_results(app: Any, doctree: nodes.document, docname: str) -> None:
    for node in list(doctree.findall(addnodes.desc_addname)):
        if node.astext() == f"{RESULTS}.":
            node.parent.remove(node)


def _link_short_names(app: Any, env: Any, node: Any, content: nodes.Node) -> nodes.Node | None:
    """A name that a docstring mentions without its prefix, or with the package's name."""
    if node.get("refdomain") != "py":
        return None
    domain = env.get_domain("py")
    target = node["reftarget"].removeprefix("gpuplace.").removesuffix("()")
    for name in (f"tf.{target}", f"{RESULTS}.{target}", f"gpuplace.testing.{target}"):
        if name in domain.objects:
            found = domain.objects[name]
            builder = app.builder
            return _reference(builder, node["refdoc"], found, content)
    return None


def _reference(builder: Any, page: str, found: Any, content: nodes.Node) -> nodes.Node:
    from sphinx.util.nodes import make_refnode

    return make_refnode(builder, page, found.docname, found.node_id, content)


def _whole_text(docstring: Any) -> tuple[str, list[str]]:
    """An attribute's docstring is all text: napoleon takes what stands before a colon for a type."""
    return "", docstring._dedent(docstring._consume_to_end())


def _differs(text: str, value: Any) -> bool:
    """Whether a text is a literal of another value."""
    try:
        return bool(ast.literal_eval(text) != value)
    except (ValueError, SyntaxError):
        return False


def _show_own_defaults(app: Any, function: Any, bound_method: bool) -> None:
    """The defaults that a function has where it shares its source with another one, which has others."""
    signature, defaults = getattr(function, "__signature__", None), getattr(function, "__defaults__", None)
    if not isinstance(function, types.FunctionType) or signature is None or not defaults:
        return
    given = [one for one in signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    own = dict(zip([one.name for one in given[-len(defaults) :]], defaults, strict=True))
    shown = [
        one.replace(default=own[one.name])
        if one.name in own and _differs(repr(one.default), own[one.name])
        else one
        for one in signature.parameters.values()
    ]
    function.__signature__ = signature.replace(parameters=shown)


def setup(app: Any) -> dict[str, bool]:
    """Registers the blocks."""
    GoogleDocstring._consume_inline_attribute = _whole_text
    app.add_directive("names", Names)
    app.add_directive("namespace", Namespace)
    app.add_directive("result", Result)
    app.add_directive("topics", Topics)
    app.add_directive("help", Help)
    app.add_role("named", _Named())
    app.connect("autodoc-before-process-signature", _show_own_defaults)
    app.connect("doctree-resolved", _hide_module_of_results)
    app.connect("missing-reference", _link_short_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
