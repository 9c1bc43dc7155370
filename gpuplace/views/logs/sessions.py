"""The sessions of a log: group statements by session, and merge the two copies of each.

A session begins where "Device mapping:" is printed again. TensorFlow prints mapping and nodes on stdout and on stderr.
Either copy may lack the mapping (stdout has none since 2.0), be late or be missing. Sessions are therefore found for
each stream separately and then paired: by number if both have the same number of mappings, otherwise by content,
matching the first mention of a node on one stream with its first on the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from gpuplace.views.logs.statements import Kind, Statement

_ABOUT_DEVICES = (Kind.CREATED, Kind.FOUND, Kind.PROPERTY, Kind.IGNORED)


@dataclass
class SessionStatements:
    """The statements of one session, without duplicates."""

    has_mapping: bool = False
    rows: list[Statement] = field(default_factory=list)
    """Devices and their descriptions."""
    nodes: list[Statement] = field(default_factory=list)
    """Nodes in printed order; repetitions with the same op type and device are left out."""
    events: list[Statement] = field(default_factory=list)
    """Ops that ran eagerly, with repetitions."""

    def __bool__(self) -> bool:
        return bool(self.has_mapping or self.rows or self.nodes or self.events)


def sessions_of(statements: Iterable[Statement]) -> tuple[list[SessionStatements], list[Statement]]:
    """Return the sessions, and the statements about hardware, which belong to the whole process."""
    streams: tuple[list[SessionStatements], list[SessionStatements]] = ([], [])
    hardware: list[Statement] = []
    for statement in sorted(statements, key=lambda statement: statement.line):
        sessions = streams[statement.is_stderr]
        if statement.kind in _ABOUT_DEVICES:
            hardware.append(statement)
            continue
        if not sessions or statement.kind is Kind.MAPPING:
            sessions.append(SessionStatements())
        session = sessions[-1]
        if statement.kind is Kind.MAPPING:
            session.has_mapping = True
        elif statement.kind is Kind.ROW:
            session.rows.append(statement)
        elif statement.kind is Kind.NODE:
            session.nodes.append(statement)
        else:
            session.events.append(statement)
    return _paired(*streams), hardware


def _paired(stdout: list[SessionStatements], stderr: list[SessionStatements]) -> list[SessionStatements]:
    if not stdout or not stderr:
        return [_merged([session]) for session in stdout or stderr]
    out_mappings = sum(session.has_mapping for session in stdout)
    err_mappings = sum(session.has_mapping for session in stderr)
    if out_mappings != err_mappings:  # stdout may lack mappings without known devices
        return _aligned(stderr, stdout) if err_mappings > out_mappings else _aligned(stdout, stderr)
    if (
        stdout[0].has_mapping != stderr[0].has_mapping
    ):  # one stream begins before its first mapping, the other with it
        (stderr if stdout[0].has_mapping is False else stdout).insert(0, SessionStatements())
    paired = []
    for number in range(max(len(stdout), len(stderr))):
        parts = [sessions[number] for sessions in (stdout, stderr) if number < len(sessions)]
        paired.append(_merged(parts))
    return paired


def _aligned(leading: list[SessionStatements], other: list[SessionStatements]) -> list[SessionStatements]:
    """Return the sessions of the stream with more mappings, with the additional statements of the other one."""
    known_rows = {(row.device, row.detail) for session in leading for row in session.rows}
    places: dict[Hashable, list[int]] = defaultdict(list)
    for number, session in enumerate(leading):
        for statement in (*session.nodes, *session.events):
            places[_key(statement)].append(number)
    used: dict[Hashable, int] = defaultdict(int)
    parts = [SessionStatements() for _ in leading]
    number = 0
    for session in other:
        for statement in sorted((*session.nodes, *session.events), key=lambda statement: statement.line):
            key = _key(statement)
            sessions_with = places.get(key, [])
            if used[key] < len(sessions_with):
                number = sessions_with[used[key]]
                used[key] += 1
            part = parts[number]
            (part.nodes if statement.kind is Kind.NODE else part.events).append(statement)
        parts[number].rows += [row for row in session.rows if (row.device, row.detail) not in known_rows]
    return [_merged([own, additional]) for own, additional in zip(leading, parts, strict=True)]


def _key(statement: Statement) -> Hashable:
    return statement[3:6]  # name, type and device; only events have no name


def _merged(copies: list[SessionStatements]) -> SessionStatements:
    """Merge copies of one session: rows and nodes once, events as often as in the copy with most repetitions."""
    rows: dict[Hashable, Statement] = {}
    nodes: dict[Hashable, Statement] = {}
    leading = max(copies, key=lambda copy: len(copy.nodes))
    for copy in (leading, *(copy for copy in copies if copy is not leading)):
        for statement in copy.rows:
            rows.setdefault((statement.device, statement.detail), statement)
        for statement in copy.nodes:
            nodes.setdefault(_key(statement), statement)
    events: list[Statement] = []
    seen: dict[Hashable, int] = defaultdict(int)
    for copy in sorted(copies, key=lambda copy: -len(copy.events)):
        own: dict[Hashable, int] = defaultdict(int)
        for statement in copy.events:
            key = _key(statement)
            own[key] += 1
            if own[key] > seen[key]:
                seen[key] = own[key]
                events.append(statement)
    return SessionStatements(
        any(copy.has_mapping for copy in copies), list(rows.values()), list(nodes.values()), events
    )
