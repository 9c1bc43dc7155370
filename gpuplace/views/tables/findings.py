"""Findings as text, as rows of a table and as JSON.

>>> from gpuplace.findings.finding import Finding, Findings
>>> cause, fix = "GPU:1 has nothing to do.", "Build 2 towers."
>>> one = Finding("idle GPU", "GPU:1 is idle", cause, fix, "...", (), ("GPU:1",), 0.01)
>>> print(findings_text(Findings((one,), 0.04, (("savers", 7),))))
What stands out:
1. GPU:1 is idle (saves 10 ms of 40 ms, 25%)
   cause  GPU:1 has nothing to do.
   fix    Build 2 towers.
          ...
Harmless: 7 nodes that never run on a GPU: 7 savers
"""

from __future__ import annotations

from typing import Any

from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.findings.finding import Finding, Findings
from gpuplace.views.tables.html import escape, escape_lines
from gpuplace.why.harmless import harmless_text

NOTHING = "Nothing stands out: no change that was tried saves 1% of the step."
_INDENT = " " * 10


def findings_text(found: Findings) -> str:
    """Findings as text, a few lines each.

    Args:
        found: the findings.
    """
    if found.skipped:
        return found.skipped
    lines = ["What stands out:"] if found.rows else [NOTHING]
    for number, one in enumerate(found.rows, 1):
        saved = saving_text(one, found.step_time)
        lines.append(f"{number}. {one.headline}{f' ({saved})' if saved else ''}")
        lines += [f"   cause  {one.cause}", f"   fix    {one.fix}"]
        lines += [f"{_INDENT}{line}" for line in one.code.splitlines()]
    return "\n".join([*lines, *below(found)])


def below(found: Findings) -> list[str]:
    """The sentences below the findings: which nodes are harmless, and what was assumed.

    Args:
        found: the findings.
    """
    return [text for text in (harmless_text(found.harmless), *found.notes) if text]


def saving_text(one: Finding, step_time: float) -> str:
    """What the fix of a finding is predicted to save; ``""`` where that is not predicted.

    Args:
        one: the finding.
        step_time: seconds of the step.
    """
    if one.short:
        return f"{size_text(one.short)} short"
    if one.gain is None or not step_time:
        return ""
    return f"saves {seconds_text(one.gain)} of {seconds_text(step_time)}, {one.gain / step_time:.0%}"


def findings_html(found: Findings) -> str:
    """Findings as HTML, the code of each fix below its cause.

    Args:
        found: the findings.
    """
    if found.skipped:
        return f"<p>{escape(found.skipped)}</p>"
    items = []
    for one in found:
        saved = saving_text(one, found.step_time)
        code = f"<pre>{escape_lines(one.code)}</pre>" if one.code else ""
        items.append(
            f"<li><b>{escape(one.headline)}</b>{f' ({escape(saved)})' if saved else ''}<br>{escape(one.cause)}<br>"
            f"{escape(one.fix)}{code}</li>"
        )
    shown = f"<p>What stands out:</p><ol>{''.join(items)}</ol>" if items else f"<p>{NOTHING}</p>"
    return shown + "".join(f"<p>{escape(text)}</p>" for text in below(found))


def findings_json(found: Findings) -> list[dict[str, Any]]:
    """Findings as values that JSON can hold; times are seconds, sizes bytes.

    Args:
        found: the findings.
    """
    return [
        {
            "kind": one.kind,
            "headline": one.headline,
            "cause": one.cause,
            "fix": one.fix,
            "code": one.code,
            "gain": one.gain,
            "short": one.short,
            "devices": list(one.devices),
            "nodes": list(one.nodes),
            "moved": dict(one.moved),
        }
        for one in found
    ]
