"""The experiments of chapter 6c, one module a page, named after the page."""
