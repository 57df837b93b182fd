"""The atlas: every system of the book, where it changes its parent, and what proves it.

`python -m deepdive.atlas` (`make atlas`) writes atlas.csv from the headers of models, parts and
pages (`headers`), and from planned.csv for what is not built yet (`rows`). Neither imports torch:
the book is built without it.
"""
