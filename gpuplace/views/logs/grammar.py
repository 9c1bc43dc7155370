r"""A small grammar of the sentences that TensorFlow prints about devices.

A rule is a sequence of terminals: literal texts, blanks, and character classes such as a node's name. Each rule gives
two matchers: one for the complete sentence, and one for a sentence that is cut off at the end of a line::

    placed  =  NAME ":" " " "(" TYPE ")" ":" " " DEVICE        since 0.12; until 1.13 `(TYPE)DEVICE` on stderr
    plain   =  NAME ":" " " DEVICE                             until 0.11
    row     =  DEVICE "->" DESCRIPTION                         below "Device mapping:"
    eager   =  "Executing op" OP "in device" DEVICE            since 1.14
    DEVICE  =  "/job:" JOB "/replica:" N "/task:" N "/device:" KIND ":" N     or "/cpu:0", "/gpu:0" at the end

No terminal can begin with a character with which the terminal before it may continue. Matching therefore never
backtracks and takes time proportional to the text.

>>> match = PLACED.match("MatMul: (MatMul)/job:localhost/replica:0/task:0/gpu:0")
>>> match["name"], match["type"], match["device"]
('MatMul', 'MatMul', '/job:localhost/replica:0/task:0/gpu:0')
>>> PLACED.is_begun("MatMul: (MatMul): /job:localhost/repl"), PLACED.is_begun("some words")
(True, False)

Source: tensorflow/core/common_runtime/simple_placer.cc, releases 0.5 to 1.3; placer.cc, 1.4 to 2.21; local_session.cc
and direct_session.cc; gpu/gpu_device.cc; eager/execute.cc.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_NAME_CHARACTERS = r"""[^\s\x00-\x1f\x7f:,;'"`\[\]{}()]"""
"""TensorFlow's own check allows fewer characters; names from rewritten graphs and functions contain others."""


@dataclass(frozen=True)
class Chars:
    """A terminal of one or more characters of a class."""

    pattern: str
    """Regular expression of the complete terminal; it matches without backtracking."""
    begun: str = ""
    """Regular expression of a truncated terminal; the same as `pattern` if empty."""
    group: str = ""
    """The group name of a match."""

    def named(self, group: str) -> Chars:
        """Return the same terminal with a group name."""
        return Chars(self.pattern, self.begun, group)


@dataclass(frozen=True)
class Optional:
    """A literal that may be absent."""

    text: str


Terminal = str | Chars | Optional
NAME = Chars(rf"{_NAME_CHARACTERS}++")
SIMPLE_NAME = Chars(r"[A-Za-z0-9._][\w.\\/>-]*+")
WORD = Chars(r"[A-Za-z_]\w*+")
OP = Chars(r"[^\s()]++")
NUMBER = Chars(r"(?:0|[1-9]\d{0,18}+(?!\d))")  # as printed: a digit after a 0 is not part of the number
KIND = Chars(r"(?:device:)?[A-Za-z_]\w*+", r"(?:d(?:e(?:v(?:i(?:c(?:e:?)?)?)?)?)?|(?:device:)?[A-Za-z_]\w*+)")
REST = Chars(r"[^\n]*\S")
GAP = Chars(r"[ \t]++")
LOOSE = Chars(r"[ \t]*+")
FULL_DEVICE: tuple[Terminal, ...] = (
    *("/job:", WORD, "/replica:", NUMBER, "/task:", NUMBER, "/", KIND, ":", NUMBER),
)


def _literal_begun(text: str, then: str) -> str:
    """Return a pattern for a truncated literal, or for the whole literal and any continuation."""
    pattern = then
    for char in reversed(text):
        pattern = f"(?:{re.escape(char)}{pattern})?"
    return pattern


@dataclass(frozen=True)
class Rule:
    """A sentence.

    Attributes:
        terminals: the terminals in order; a tuple among them is a group named by its first item.
    """

    terminals: tuple[Terminal | tuple[str, tuple[Terminal, ...]], ...]
    certain: int = 1
    """Number of terminals that must be complete for a truncated sentence to be recognized."""

    @cached_property
    def pattern(self) -> str:
        """Regular expression of the complete sentence."""
        return "".join(map(_whole, self.terminals))

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled regular expression of the complete sentence."""
        return re.compile(self.pattern, re.ASCII if "job" not in self.pattern else 0)

    @cached_property
    def _begun(self) -> re.Pattern[str]:
        flat: list[Terminal] = []
        for terminal in self.terminals:
            flat += terminal[1] if isinstance(terminal, tuple) else (terminal,)
        pattern = ""
        for position, terminal in reversed(list(enumerate(flat))):
            if position < self.certain:
                pattern = _whole(terminal) + pattern
            elif isinstance(terminal, str):
                pattern = _literal_begun(terminal, pattern)
            elif isinstance(terminal, Optional):
                pattern = f"(?:{re.escape(terminal.text)})?{pattern}"
            else:
                pattern = f"(?:{terminal.pattern}{pattern}|{terminal.begun or terminal.pattern})?"
        return re.compile(re.sub(r"\(\?P<\w+>", "(?:", pattern) + r"\Z")

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Match the sentence at a position."""
        return self.regex.match(text, start)

    def is_begun(self, text: str, start: int = 0) -> bool:
        """Return whether the text from a position on is a truncated sentence."""
        return self._begun.match(text, start) is not None


def _whole(terminal: Terminal | tuple[str, tuple[Terminal, ...]]) -> str:
    if isinstance(terminal, tuple):
        return f"(?P<{terminal[0]}>{''.join(map(_whole, terminal[1]))})"
    if isinstance(terminal, str):
        return re.escape(terminal)
    if isinstance(terminal, Optional):
        return f"(?:{re.escape(terminal.text)})?"
    return f"(?P<{terminal.group}>{terminal.pattern})" if terminal.group else terminal.pattern


_DEVICE = ("device", FULL_DEVICE)
_TYPE = Chars(r"[^\s():]++")
DEVICE_NAME = Rule((_DEVICE,))
PLACED = Rule(
    (NAME.named("name"), ":", LOOSE, "(", _TYPE.named("type"), ")", Optional(":"), LOOSE, _DEVICE), certain=2
)
PLAIN = Rule((SIMPLE_NAME.named("name"), ":", GAP, _DEVICE), certain=2)
ROW = Rule((_DEVICE, LOOSE, "->", LOOSE, REST.named("description")), certain=1)
EAGER = Rule(("Executing op", GAP, OP.named("op"), GAP, "in", GAP, "device", GAP, _DEVICE), certain=1)
HEADER = Rule(("Device mapping:", LOOSE))
NO_DEVICES = Rule(("Device mapping:", GAP, "no", GAP, "known", GAP, "devices.", LOOSE), certain=1)
FOUND = Rule(("Found device", GAP, NUMBER.named("physical_id"), GAP, "with properties:", LOOSE))

_PHYSICAL: tuple[Terminal, ...] = (
    *("device:", LOOSE, NUMBER.named("physical_id"), ",", LOOSE, "name:", GAP),
    *(Chars(r"[^,\n]++").named("name"), ",", GAP, "pci", GAP, "bus", GAP, "id:", GAP),
    Chars(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]|<[^>\n]*+>").named("pci_bus_id"),
)
PHYSICAL = Rule(_PHYSICAL)
CAPABILITY = re.compile(r",[ \t]+compute[ \t]+capability:[ \t]+(\d+\.\d+)")
CREATED = re.compile(
    r"(?:Creat(?:ed|ing) TensorFlow device|Created device)[ \t]+\(?(?P<device>/[^\s()]++)"
    r"(?:[ \t]+with[ \t]+(?P<memory>\d{1,19}+)[ \t]+MB[ \t]+memory:?)?\)?:?[ \t]*->[ \t]*"
    r"(?:physical (?:GPU|PluggableDevice)[ \t]+)?\(?"
    rf"(?P<description>{PHYSICAL.pattern}(?:{CAPABILITY.pattern})?)\)?"
)
"""Since 0.5 `Creating`, since 1.5 `Created TensorFlow device`, since 2.5 `Created device`."""
IGNORED = re.compile(
    rf"Ignoring (?:visible )?gpu device \((?P<description>{PHYSICAL.pattern}(?:{CAPABILITY.pattern})?)\)"
    r" with (?P<reason>[^\n]*\S)"
)
OVERRIDDEN = re.compile(
    r"Ignoring device specification (?P<requested>\S*+) for node '(?P<name>[^'\n]++)' because the input edge from"
    r" '[^'\n]++' is a reference connection and already has a device field set to (?P<device>/\S++)"
)
NOT_COLOCATED = re.compile(
    r"Ignoring request to colocate node '(?P<name>[^'\n]++)' with nodes in colocation group '[^\n]*\S"
)
RESOURCES_MOVED = re.compile(
    r"Failed to place the graph without changing the devices of some resources\.[^\n]*\S"
)
"""Since 1.14; the following text lists nodes that belong together."""
MEMBER = re.compile(
    rf"(?P<name>{_NAME_CHARACTERS}++)[ \t]++\((?P<type>[^\s():]++)\)(?:[ \t]++(?P<device>/\S++))?"
    r"(?:[ \t]++framework assigned device=\S*+)?[ \t]*+\Z"
)
GROUP = re.compile(
    r"/job:[^\s\]]++[\],]|See below for details of this colocation group|Colocation (?:Debug Info|group had|members,)"
    r"|Root Member\(|\w++:(?:[ \t]++[A-Z_]++)++[ \t]*+\Z"
)
PROPERTIES = re.compile(
    r"(?P<key>name|major|minor|memoryClockRate[ ]?\(GHz\)|pciBusID|[Tt]otal[ ]?[Mm]emory|[Ff]ree[ ]?[Mm]emory"
    r"|computeCapability|coreClock|coreCount|deviceMemorySize|deviceMemoryBandwidth)(?P<colon>:?)[ ]"
)
"""The lines after "Found device": keys of all releases."""

_FILE = r"[^\s\]]++(?:(?<=:\d)|(?<=:\d\d)|(?<=:\d{3})|(?<=:\d{4})|(?<=:\d{5}))"
_RUN = re.compile(
    rf"{_NAME_CHARACTERS}++(?P<rest>{PLACED.pattern.removeprefix(_whole(PLACED.terminals[0]))})?"
)
"""Text that may be a node's name, and the rest if it is a node's line; matches do not overlap."""
_LATER = re.compile(r"(?:(?<=\s)|(?<=>:)|(?<=\|))")


def placed_later(text: str, start: int) -> tuple[int, int] | None:
    """Find a node's line after other text on the same line; return where its name begins and ends.

    Names contain no blanks. The time is proportional to the text, because each possible name is examined once instead
    of at each character.

    Args:
        text: the line.
        start: where to begin.
    """
    for match in _RUN.finditer(text, start):
        if match["rest"] is not None:
            end = match.start("rest")
            name = _LATER.search(text, match.start(), end)
            if name is not None and name.start() < end:
                begin = name.start()
                if text[begin - 1] == "|":  # a name after a bar contains no bar
                    begin = text.rfind("|", 0, end) + 1
                return begin, end
    return None


PREFIX = re.compile(
    rf"(?:\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{1,9}}: )?[IWEF] (?P<file>{_FILE})\] ?"
    rf"|[IWEF]\d{{4}} \d\d:\d\d:\d[\d.]{{1,20}} {{1,8}}\d{{1,12}} (?P<file2>{_FILE})\] ?"
    r"|(?P<python>(?:WARNING|INFO|ERROR|DEBUG|FATAL|CRITICAL):(?:tensorflow|absl|root):)"
)
"""The prefix of a line on stderr: until 1.0 severity and file; since 1.1 also the time; since 2.18 absl's format.

Python's loggers have their own prefixes.
"""
PROMPT = re.compile(r"(?:(?:>>> |\.\.\. |In \[\d*\]: |Out\[\d*\]: )++)?[ \t]*+")
NAME_END = re.compile(rf"{_NAME_CHARACTERS}\Z")
"""Matches if a text ends in a character with which a node's name could continue."""
