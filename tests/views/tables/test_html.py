"""Tables and texts as HTML: escaped, counted, and readable without scripts."""

import re

import pytest

import gpuplace as tf
from gpuplace.views.tables.html import (
    Raw,
    bar,
    both_themes,
    chip,
    error_html,
    escape,
    escape_lines,
    image,
    node_table,
    scrolling,
    summary,
    table,
)


def texts(page):
    """The texts of cells and paragraphs, without tags."""
    return re.sub(r"<[^>]*>", "|", page)


def test_text_is_escaped_unless_it_is_html():
    assert escape('<b> & "x"') == "&lt;b&gt; &amp; &quot;x&quot;"
    assert escape(Raw("<b>")) == "<b>" and escape(None) == "" and escape(0) == "0"
    assert escape_lines("a<\nb") == "a&lt;\nb"


@pytest.mark.parametrize(
    ("limit", "more", "rest"),
    [
        (None, 0, ""),
        (3, 0, ""),
        (2, 0, "and 1 more row"),
        (1, 0, "and 2 more rows"),
        (2, 4, "and 5 more rows"),
    ],
)
def test_rows_beyond_the_limit_are_counted(limit, more, rest):
    page = table(("n",), [(number,) for number in range(3)], limit=limit, more=more)
    assert page.count("<tr>") == 1 + min(3, 3 if limit is None else limit)
    assert (f"<p>{rest}</p>" in page) == bool(rest) and ("more row" in page) == bool(rest)


def test_a_table_has_its_caption_and_its_columns():
    page = table(("a<", "b"), [("x", None)], caption="c>")
    assert "<caption>c&gt;</caption>" in page and page.count('<th scope="col"') == 2 and "a&lt;" in page
    assert "<caption>" not in table(("a",), [])


def test_a_bar_is_in_proportion_and_absent_without_a_value():
    assert "width:80px" in bar(2.0, 2.0, "t") and "width:20px" in bar(0.5, 2.0, "t")
    assert "width:0px" in bar(0.0, 0.0, "t") and bar(1.0, 2.0, "<").endswith("&lt;")
    assert bar(float("nan"), 2.0, "t") == ""


def test_a_chip_shows_its_text_or_the_device():
    assert ">GPU:1</span>" in chip("/device:GPU:1") and ">three</span>" in chip("/device:GPU:1", "three")
    assert chip("/device:GPU:0") != chip("/device:GPU:1").replace("GPU:1", "GPU:0")


@pytest.fixture(scope="module")
def placement():
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:1"):
            a = tf.constant([1.0], name="a")
            tf.cast(tf.constant("s", name="text") + "t", tf.string, name="word")
        tf.negative(a, name="b")
    return tf.place(graph, "1x Tesla V100", tf.ConfigProto(allow_soft_placement=True))


def test_overridden_requests_are_marked_in_the_table_of_nodes(placement):
    page = texts(node_table(placement))
    assert "≠ /device:GPU:1" in page or "≠ /gpu:1" in page
    assert page.count("≠") < len(placement.graph)
    short = node_table(placement, limit=1)
    assert f"and {len(placement.graph) - 1} more rows" in short
    assert "more row" not in node_table(placement, limit=None)


def test_the_summary_counts_nodes_by_device(placement):
    page = texts(summary(placement))
    assert f"{len(placement.graph)} nodes" in page and "GPU:0: " in page and "CPU:0: " in page
    assert "role=" not in summary(placement)


def test_an_error_shows_its_message_facts_and_hint():
    error = tf.errors.InvalidArgumentError.of("bad <x>\nand more", facts={"node": "n<"}, hint="do this")
    page = error_html(error)
    assert "<b>InvalidArgumentError</b>: bad &lt;x&gt;<br>and more" in page and 'role="alert"' in page
    assert "n&lt;" in page and ">try</th>" in page and "do this" in page
    assert "<table>" not in error_html(ValueError("plain"))


def test_two_themes_are_one_picture():
    light = '<svg><style>.a{fill:#111111}</style><path fill="#ffffff" stroke="#222222"/><g fill="#333333"></g></svg>'
    dark = '<svg><style>.a{fill:#eeeeee}</style><path fill="#000000" stroke="#222222"/><g fill="#444444"></g></svg>'
    both = both_themes(light, dark)
    assert both.startswith('<svg style="color-scheme:light dark">')
    assert '<path fill="#ffffff" stroke="#222222" style="fill:light-dark(#ffffff,#000000)"/>' in both
    assert '<g fill="#333333" style="fill:light-dark(#333333,#444444)"></g>' in both
    assert "<style>.a{fill:light-dark(#111111,#eeeeee)}</style>" in both


def test_an_image_has_its_description_and_both_themes():
    assert 'alt="a &lt; b"' in image("<svg/>", "a < b") and "<style>" not in image("<svg/>", "x")
    assert 'class="gp-still"' in image("<svg></svg>", "x", "<svg></svg>")
    assert "max-width:none" in scrolling(image("<svg/>", "x")) and "overflow-x:auto" in scrolling("")
