"""What axe-core finds wrong with a page: WCAG 2.2, its best practices, and that labels say what is written."""

from axe_playwright_python.sync_playwright import Axe

_OPTIONS = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "experimental"],
    "rules": {"hidden-content": {"enabled": False}},  # only asks to look at what is hidden as well
}


def violations(page, context: str | None = None) -> list[str]:
    """Rule and element of each violation; of the whole page, or of what a selector selects."""
    found = Axe().run(page, context, _OPTIONS).response["violations"]
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))} {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]
