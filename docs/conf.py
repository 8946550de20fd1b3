# SPDX-License-Identifier: Apache-2.0
"""Settings of the documentation site, which `python3 dev.py docs` builds with Sphinx from the Markdown pages.

The pages stay plain Markdown, so that they read the same on a code hosting page. The side bar is the index by reader in
docs/README.md. Diagrams are drawn while the site is built, so the site needs neither scripts of Mermaid nor a network.
"""

import posixpath
import re
from pathlib import Path

import mermaidx
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "Chamberlain"
author = "The authors of Chamberlain"
language = "en"
html_title = "Chamberlain"
html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False

extensions = ["myst_parser"]
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**.md", "bench/**README.md", "deploy/**README.md", "examples/**README.md"]
exclude_patterns = [".*", "*/.*", "checks", "dist", "site", "src", "tests"]
# Links to headings have the form of the code hosting page.
myst_heading_anchors = 6
# Examples shorten JSON with an ellipsis, which its lexer does not know.
suppress_warnings = ["misc.highlighting_failure"]


def setup(app: Sphinx) -> None:
    """Connect the steps below to the build."""
    app.connect("source-read", add_side_bar)
    app.connect("doctree-read", draw_diagrams)
    app.connect("doctree-read", link_folders)
    app.connect("build-finished", redirect_start)


def add_side_bar(_: Sphinx, page: str, source: list[str]) -> None:
    """Add the order of the pages: the sections of the index, and all decisions."""
    if page == root_doc:
        _, *sections = re.split(r"^## (.+)$", source[0], flags=re.MULTILINE)
        for caption, section in zip(sections[::2], sections[1::2], strict=True):
            links = re.findall(r"^[-|] \[([^\]]+)\]\(([^)]+)\.md\)", section, re.MULTILINE)
            entries = "\n".join(f"{title} <{target}>" for title, target in links)
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"
    if page == "docs/decisions/README":
        source[0] += "\n\n```{toctree}\n:glob:\n\n0*\n```\n"


def draw_diagrams(_: Sphinx, tree: nodes.document) -> None:
    """Replace blocks of Mermaid by the drawing."""
    for number, block in enumerate(list(tree.findall(nodes.literal_block))):
        if block.get("language") == "mermaid":
            drawing = mermaidx.render(block.astext()).svg()
            # Its styles are bound to its id. It shrinks to half its size at most, so that its text can be read.
            drawing = drawing.replace("my-svg", f"diagram-{number}")
            drawing = re.sub(
                r"max-width: ([\d.]+)px",
                lambda found: f"{found[0]}; min-width: {float(found[1]) / 2}px",
                drawing,
                count=1,
            )
            block.replace_self(nodes.raw("", f'<div class="diagram">{drawing}</div>', format="html"))


def link_folders(app: Sphinx, tree: nodes.document) -> None:
    """Lead links to folders to their README, or show them as text. The site has no listing of files."""
    for link in list(tree.findall(addnodes.pending_xref)):
        folder = posixpath.normpath(posixpath.join(posixpath.dirname(link["refdoc"]), link["reftarget"]))
        if not (ROOT / folder).is_dir():
            continue
        if f"{folder}/README" in app.env.found_docs:
            link.attributes |= {"refdomain": "doc", "reftarget": f"{folder}/README", "reftargetid": None}
        else:
            link.replace_self(link.children)


def redirect_start(app: Sphinx, error: Exception | None) -> None:
    """Lead the start page to the index by reader."""
    if error is None:
        start = (
            f'<!doctype html><title>Chamberlain</title><meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        )
        (Path(app.outdir) / "index.html").write_text(start, encoding="utf-8")
