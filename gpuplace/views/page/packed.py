"""A report page inside other HTML: compressed, in an isolated frame, over a still picture.

A saved notebook keeps HTML outputs. Readers that run scripts (nbconvert's pages, JupyterLab for a notebook that its
user trusts) show the frame, in which the picture can be clicked without a kernel. Other readers (GitHub, an untrusted
notebook) remove the frame and show the still picture below it.

The scripts of a page are compressed directly, and the frame creates the import map from them: as Base64 ``data:`` URLs
they would be twice as long.

>>> view = PlacementView.of_columns([("x", "Const", "/cpu:0", "/device:CPU:0")])
>>> html = framed_page(page_html(view), "<p>still</p>", label="one node")
>>> html.startswith("<div"), "<p>still</p>" in html, unpacked(html) == page_html(view)
(True, True, True)
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from base64 import b64decode, b64encode
from html import escape, unescape

from gpuplace.views.page.page import page_html
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.web.modules import import_map, module_text, modules

__all__ = ["FRAME_PX", "framed_page", "packed_page", "template_page", "unpacked"]

FRAME_PX = 640
"""Height of the frame in CSS pixels."""
_START = "gpuplace/page/placement.js"
_MARK = "@modules@"
_PACKED = re.compile(r'<script type="text/plain" id="packed">([A-Za-z0-9+/=]*)</script>')


def packed_page(page: str) -> str:
    """Pack a page into a smaller one that unpacks itself.

    Args:
        page: result of `page_html`.
    """
    parts = {"page": page.replace(import_map(_START), _MARK), "modules": modules(_START)}
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
    # As gzip, with zlib's header: that of `gzip.compress` depends on the version of Python.
    packed = b64encode(zlib.compress(text.encode(), 9, wbits=31)).decode()
    return (
        '<!DOCTYPE html><meta charset="utf-8">'
        f'<script type="text/plain" id="packed">{packed}</script>'
        f"<script>{module_text('gpuplace/page/unpack.js')}</script>"
    )


def framed_page(page: str, still: str, *, label: str) -> str:
    """Put a page into a frame over a fallback for readers without scripts.

    Args:
        page: result of `page_html`.
        still: HTML without scripts.
        label: title of the frame for screen readers.
    """
    over = "grid-area:1/1;min-width:0"
    return (
        f'<div style="display:grid"><div style="{over}">{still}</div>'
        f'<iframe class="gpuplace-page" sandbox="allow-scripts allow-downloads" title="{escape(label)}" '
        f'style="{over};position:relative;width:100%;height:100%;min-height:{FRAME_PX}px;border:0;background:#fff" '
        f'srcdoc="{escape(packed_page(page))}"></iframe></div>'
    )


def template_page() -> str:
    """Return a page with its data replaced by those of a saved explorer."""
    node = ("node", "NoOp", "", "/device:CPU:0")
    return page_html(PlacementView.of_columns([node]), title="Explorer", has_bodies=False)


def unpacked(html: str) -> str:
    """Return the page in the result of `framed_page` or `packed_page`.

    Args:
        html: result of either function.

    Raises:
        ValueError: the text contains no page.
    """
    match = _PACKED.search(unescape(html))
    if match is None:
        raise ValueError("There is no packed page in this HTML.")
    parts = json.loads(gzip.decompress(b64decode(match[1])))
    return parts["page"].replace(_MARK, import_map(_START))
