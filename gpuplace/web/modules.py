"""The scripts as JavaScript modules, for pages that cannot fetch files.

Modules import each other by name, ``import { element } from "gpuplace/dom.js";``. The browser cannot fetch them from a
server, so each page maps the names itself:

- The import map of a report page maps each name to its module as a ``data:`` URL.
- anywidget requires a widget to be a single module, which cannot extend the notebook's import map. It is therefore a
  small loader (``widgets/load.js``) with the texts of the other modules. The loader creates a ``blob:`` URL for each
  and inserts it where the module is imported.

``gpuplace/rules.js`` is ``rules.json``. All other names are file names in this folder and its subfolders.

>>> list(modules("gpuplace/widgets/panel_view.js"))
['gpuplace/rules.js', 'gpuplace/dom.js', 'gpuplace/text.js', 'gpuplace/widgets/panel_view.js']
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from pathlib import Path

from gpuplace.web.rules import RULES

_FOLDER = Path(__file__).parent
_PREFIX = "gpuplace/"
_RULES = "gpuplace/rules.js"
_IMPORT = re.compile(
    r'^import (?:(?:(?P<default>\w+)|\{(?P<names>[^}]*)\}) from )?"(?P<module>[^"]+)";$', re.MULTILINE
)


@cache
def module_text(name: str) -> str:
    """Return the text of a module.

    Raises:
        FileNotFoundError: the module does not exist.
    """
    if name == _RULES:
        return f"export const RULES = {json.dumps(RULES, ensure_ascii=False)};\n"
    return (_FOLDER / name.removeprefix(_PREFIX)).read_text(encoding="utf-8")


def names_imported(text: str) -> dict[str, tuple[str, ...]]:
    """Module -> the names that a script imports from it; ``default`` for its default, empty if it is only run.

    >>> names_imported('import { chip, element } from "gpuplace/dom.js";')
    {'gpuplace/dom.js': ('chip', 'element')}
    """
    found = {}
    for match in _IMPORT.finditer(text):
        listed = match["names"] or ""
        names = tuple(part.split(" as ")[0].strip() for part in listed.split(",") if part.strip())
        found[match["module"]] = ("default",) if match["default"] else names
    return found


@cache
def modules(name: str) -> dict[str, str]:
    """Return a module and its dependencies, name -> text, each after the modules that it imports."""
    text = module_text(name)
    found: dict[str, str] = {}
    for needed in names_imported(text):
        found |= modules(needed)
    return found | {name: text}


def import_map(name: str) -> str:
    """Return the import map of a page that begins with a module, as JSON."""
    urls = {
        known: f"data:text/javascript;base64,{b64encode(text.encode()).decode()}"
        for known, text in modules(name).items()
    }
    return json.dumps({"imports": urls})


def widget_module(name: str) -> str:
    """Return a single module that loads another with its dependencies, and exports its default."""
    texts = json.dumps(modules(name), ensure_ascii=False)
    return f"const MODULES = {texts};\n{module_text('gpuplace/widgets/load.js')}"
