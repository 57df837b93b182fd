"""Names of roles in code wear their colours, where queries meet keys; a Sphinx extension."""

import re
from typing import Any

NAMES = {
    "query": "[qQ]|quer(?:y|ies)",
    "key": "[kK]|keys?",
    "value": "[vV]|values?",
    "score": "scores?",
    "weight": "weights?",
    "residual": "residuals?",
}
BLOCK = re.compile(r'(?<=<div class="highlight"><pre>).*?(?=</pre>)', re.DOTALL)
# Not an attribute ("sizes.keys()") and no keyword ("sorted(x, key=f)", which has no spaces).
NAME = '(?<!<span class="o">\\.</span>)<span class="n">({})</span>(?!<span class="o">=</span>)'
WORDS = {role: re.compile(NAME.format(name)) for role, name in NAMES.items()}


def colored(block: str) -> str:
    """Highlighted code with the roles' names in their colours, if it has queries and keys."""
    if WORDS["query"].search(block) and WORDS["key"].search(block):
        for role, word in WORDS.items():
            block = word.sub(rf'<span class="role-{role}">\1</span>', block)
    return block


def _page(app: Any, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if pagename.startswith("chapters/") and "body" in context:
        context["body"] = BLOCK.sub(lambda block: colored(block[0]), context["body"])


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
