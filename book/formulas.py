"""Formulas as MathML: a Sphinx extension.

A formula that does not convert is a warning, and so an error of the build.
"""

from typing import Any

from docutils import nodes
from frames import PLAIN
from sphinx.util import logging
from stage import library

mathml = library("deepdive_book.kit.mathml").mathml
lettered = library("deepdive_book.kit.palette").lettered
LOGGER = logging.getLogger(__name__)


def _visit(display: str) -> Any:
    def visit(self: Any, node: nodes.Element) -> None:
        try:
            formula = mathml(node.astext(), display)
        except ValueError as error:
            LOGGER.warning("formula %s: %s", node.astext().strip(), error, location=node)
            raise nodes.SkipNode from error
        if not self.builder.current_docname.startswith(PLAIN):
            formula = lettered(formula)
        block = self.starttag(node, "div", CLASS="formula")
        self.body.append(f"{block}{formula}</div>\n" if display == "block" else formula)
        raise nodes.SkipNode

    return visit


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_visit("inline"), None), (_visit("block"), None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
