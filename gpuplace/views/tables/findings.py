"""Findings as text, as table rows and as JSON.

>>> from gpuplace.findings.finding import Finding, Findings
>>> cause, fix = "GPU:1 has nothing to do.", "Build 2 towers."
>>> one = Finding("idle GPU", "GPU:1 is idle", cause, fix, "...", (), ("GPU:1",), 0.01)
>>> print(findings_text(Findings((one,), 0.04, (("savers", 7),))))
Findings:
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

NOTHING = "Nothing stands out: none of the changes tried saves 1% of the step."
_INDENT = " " * 10


def findings_text(findings: Findings) -> str:
    """Return findings as text, a few lines each.

    Args:
        found: findings to print.
    """
    if findings.skipped:
        return findings.skipped
    lines = ["Findings:"] if findings.rows else [NOTHING]
    for number, finding in enumerate(findings.rows, 1):
        saved = saving_text(finding, findings.step_time)
        lines.append(f"{number}. {finding.headline}{f' ({saved})' if saved else ''}")
        lines += [f"   cause  {finding.cause}", f"   fix    {finding.fix}"]
        lines += [f"{_INDENT}{line}" for line in finding.code.splitlines()]
    return "\n".join([*lines, *below(findings)])


def below(findings: Findings) -> list[str]:
    """Return the sentences below the findings: the harmless nodes, and the assumptions.

    Args:
        found: findings to print.
    """
    return [text for text in (harmless_text(findings.harmless), *findings.notes) if text]


def saving_text(finding: Finding, step_time: float) -> str:
    """Return the predicted saving of a finding's fix; ``""`` if it is not predicted.

    Args:
        one: the finding.
        step_time: the predicted step time in seconds.
    """
    if finding.short:
        return f"{size_text(finding.short)} short"
    if finding.gain is None or not step_time:
        return ""
    share = finding.gain / step_time
    return f"saves {seconds_text(finding.gain)} of {seconds_text(step_time)}, {share:.0%}"


def findings_html(findings: Findings) -> str:
    """Return findings as HTML, with the code of each fix below its cause.

    Args:
        found: findings to print.
    """
    if findings.skipped:
        return f"<p>{escape(findings.skipped)}</p>"
    items = []
    for finding in findings:
        saved = saving_text(finding, findings.step_time)
        code = f"<pre>{escape_lines(finding.code)}</pre>" if finding.code else ""
        items.append(
            f"<li><b>{escape(finding.headline)}</b>{f' ({escape(saved)})' if saved else ''}<br>"
            f"{escape(finding.cause)}<br>{escape(finding.fix)}{code}</li>"
        )
    shown = f"<p>Findings:</p><ol>{''.join(items)}</ol>" if items else f"<p>{NOTHING}</p>"
    return shown + "".join(f"<p>{escape(text)}</p>" for text in below(findings))


def findings_json(findings: Findings) -> list[dict[str, Any]]:
    """Return findings as JSON values; times in seconds, sizes in bytes.

    Args:
        found: findings to convert.
    """
    return [
        {
            "kind": finding.kind,
            "headline": finding.headline,
            "cause": finding.cause,
            "fix": finding.fix,
            "code": finding.code,
            "gain": finding.gain,
            "short": finding.short,
            "devices": list(finding.devices),
            "nodes": list(finding.nodes),
            "moved": dict(finding.moved),
        }
        for finding in findings
    ]
