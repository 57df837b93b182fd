"""What pages attribute to papers: the quoted evidence is complete, and the page still says it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from checkout import ROOT

from book import facts
from deepdive_book.site.pages import Page

QUOTES: list[dict[str, Any]] = yaml.safe_load((ROOT / "book" / "quotes.yaml").read_text("utf-8"))
FIELDS = ["page", "claim", "quote", "where", "link", "numbers"]


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: quote["claim"][:40])
def test_a_page_links_to_the_paper_it_quotes_and_has_the_claim_s_numbers(
    quote: dict[str, Any],
) -> None:
    assert list(quote) == FIELDS
    assert all(quote[field] for field in FIELDS[:-1])
    page = Page(ROOT / f"{quote['page']}.py", ROOT)
    found = facts.facts(page)
    assert quote["link"] in found["links"]  # type: ignore[operator]
    missing = {str(number) for number in quote["numbers"]} - set(found["numbers"])  # type: ignore[arg-type]
    assert not missing, "the page no longer has these numbers: update the claim or the page"
