"""The skeleton: text stays text, scripts are named in the policy, files appear whole."""

import base64
import doctest
import hashlib
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

from levelhead.report import Panel, encoding, render, write

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 &"


@pytest.fixture(scope="module")
def page() -> str:
    figure = {"data": [{"y": np.array([1.0, 2.0]), "name": HOSTILE}], "layout": {"title": {"text": HOSTILE}}}
    return render(
        "base.html", title=HOSTILE, summary=HOSTILE, panels=[Panel("one", HOSTILE, figure, HOSTILE)]
    )


def test_text_from_data_stays_text(page: str) -> None:
    assert "alert(1)" in page
    assert "<script>alert" not in page
    embedded = re.search(r'id="one-data">(.*?)</script>', page, re.DOTALL)
    figure = json.loads(embedded[1])
    assert figure["layout"]["title"]["text"] == figure["data"][0]["name"] == HOSTILE


def test_the_policy_names_every_script_and_nothing_else(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    allowed = set(re.findall(r"sha256-([\w+/=]+)", policy))
    packed = json.loads(re.search(r'id="plotly">(.*?)</script>', page)[1])
    plotly = zlib.decompress(base64.b64decode(packed["zlib"])).decode()
    assert plotly.startswith("/**\n* plotly.js")
    scripts = [plotly, *re.findall(r"<script>(.*?)</script>", page, re.DOTALL)]
    assert allowed == {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts}
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "connect-src" not in policy  # so default-src binds it
    assert "http" not in policy


def test_a_plotly_figure_is_a_panel_too() -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects")
    panel = Panel("two", "Two", graph_objects.Figure(graph_objects.Scatter(x=[1, 2], y=[3, 4])))
    assert json.loads(panel.json)["data"][0]["type"] == "scatter"


@pytest.mark.parametrize("name", ["", "1a", "a b", 'a"b', "a<b"])
def test_a_panel_has_a_plain_name(name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits"):
        Panel(name, "title", {})


def test_panels_have_names_of_their_own() -> None:
    with pytest.raises(ValueError, match="different names"):
        render("base.html", title="t", panels=[Panel("a", "A", {}), Panel("a", "B", {})])


def test_a_page_appears_whole_and_replaces_nothing_unasked(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write(path, "one\r\ntwo")
    assert path.read_bytes() == b"one\r\ntwo"
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write(path, "other")
    write(path, "other", overwrite=True)
    assert path.read_text() == "other"
    with pytest.raises(TypeError):
        write(path, None, overwrite=True)
    assert path.read_text() == "other"
    write(path, "the name of a file: \ud800", overwrite=True)
    assert path.read_text() == "the name of a file: ?"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_packed_columns_come_back() -> None:
    for values in (np.array([1.5, np.nan, -np.inf]), np.arange(6, dtype=np.int32).reshape(2, 3)):
        packed = encoding.packed(values)
        raw = zlib.decompress(base64.b64decode(packed["zlib"]))
        read = np.frombuffer(raw, dtype=f"<{packed['dtype']}").reshape(packed["shape"])
        np.testing.assert_array_equal(read, values)
    text = "ß\n" * 100
    assert zlib.decompress(base64.b64decode(encoding.packed_text(text)["zlib"])).decode() == text


def test_coarse_numbers_are_as_near_as_asked_and_compress() -> None:
    rng = np.random.default_rng(0)
    values, step = 1e9 + rng.normal(size=5000), np.full(5000, 1e-3)
    rounded = encoding.coarse(values, step)
    assert np.abs(rounded - values).max() <= 0.5e-3
    assert len(encoding.packed(rounded)["zlib"]) < 0.6 * len(encoding.packed(values)["zlib"])
    np.testing.assert_array_equal(
        encoding.coarse([1.0, np.nan, np.inf, 0.0], [0.0, 1.0, 1.0, 0.0]), [1, np.nan, np.inf, 0]
    )


def test_the_docstring_is_true() -> None:
    assert doctest.testmod(encoding) == (0, 1)
