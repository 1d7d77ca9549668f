"""Markup is safe by construction."""

from __future__ import annotations

import json

from certmix.reporting.markup import Markup, embedded, joined, own_words, tag

HOSTILE = "</script><script>alert(1)</script><!-- \" ' & \u2028 </title>"


def test_texts_and_attributes_are_escaped():
    """A text cannot become an element, nor the value of an attribute a second attribute."""
    made = tag("td", "<b>&", title='" onclick="x')
    assert made == '<td title="&quot; onclick=&quot;x">&lt;b&gt;&amp;</td>'
    assert own_words("<i>") == "<bdi>&lt;i&gt;</bdi>"


def test_markup_is_kept_and_lists_are_joined():
    """Elements inside elements stay what they are; None is nothing."""
    assert tag("p", [tag("b", "x"), None, "<"], class_="a", hidden=True, id=None) == (
        '<p class="a" hidden><b>x</b>&lt;</p>'
    )
    assert isinstance(joined("a", tag("br")), Markup)


def test_embedded_json_cannot_end_its_script():
    """Whatever a name holds, the JSON has no sign that HTML reads, and is the same value."""
    made = embedded([HOSTILE])
    assert not set("<>&\u2028") & set(made)
    assert json.loads(made) == [HOSTILE]
