"""Dependency trees of sentences: the UD treebank, and the relations of Clark et al. 2019."""

import gzip
from dataclasses import dataclass
from pathlib import Path

from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.text import shuffled

# Stanford's names, as in Clark et al. -> names in Universal Dependencies.
RELATIONS = {
    "dobj": "obj",
    "det": "det",
    "poss": "nmod:poss",
    "auxpass": "aux:pass",
    "pobj": "case",
}
ROOT = -1


@dataclass(frozen=True)
class Tree:
    """The dependency tree of a sentence of W words.

    words, tags    the words and their universal parts of speech
    heads          heads[i] is the index of the head of word i, -1 for the root
    relations      the relation of word i to its head (`obj`, `det`, ...)
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    def depths(self) -> list[int]:
        """Return each word's number of edges from the root; the root has 0."""
        return [len(self._path(i)) - 1 for i in range(len(self))]

    def distances(self) -> list[list[int]]:
        """Return the number of edges between each pair of words, (W, W)."""
        paths = [self._path(i) for i in range(len(self))]
        shared = [[len(set(a) & set(b)) for b in paths] for a in paths]
        return [
            [len(a) + len(b) - 2 * shared[i][j] for j, b in enumerate(paths)]
            for i, a in enumerate(paths)
        ]

    def _path(self, word: int) -> list[int]:
        path = [word]
        while self.heads[path[-1]] != ROOT:
            path.append(self.heads[path[-1]])
        return path


def relation_pairs(tree: Tree, relation: str) -> list[tuple[int, int]]:
    """Return the (dependent, head) pairs of one of `RELATIONS`, directed as in Stanford
    Dependencies. pobj: in Stanford the noun depends on its preposition, in Universal Dependencies
    the preposition (`case`, tag ADP) on the noun; so the pair is reversed, (noun, preposition).
    poss: if the possessor ends in 's, that token replaces it, as in Clark et al., section 4.2.

    Raises ValueError for another name.
    """
    if relation not in RELATIONS:
        raise ValueError(f"relation {relation!r} is unknown; there is {', '.join(RELATIONS)}")
    label = RELATIONS[relation]
    found = [(i, head) for i, head in enumerate(tree.heads) if tree.relations[i] == label]
    if relation == "pobj":
        return [(head, i) for i, head in found if tree.tags[i] == "ADP"]
    if relation == "poss":
        return [(_mark(tree, i), head) for i, head in found]
    return found


def _mark(tree: Tree, possessor: int) -> int:
    """Return the 's that depends on the possessor, or the possessor itself (his, her)."""
    for i, head in enumerate(tree.heads):
        if head == possessor and tree.relations[i] == "case" and tree.tags[i] == "PART":
            return i
    return possessor


def read_conllu(path: str | Path) -> list[Tree]:
    """Return the trees of a CoNLL-U file, plain or `.gz`.

    Rows of multiword tokens (1-2) and of empty nodes (1.1) are skipped; the tree has the parts of
    the former. Raises DataError, with the line number, for a row without ten columns or a head that
    is not a word of its sentence.
    """
    path = Path(path)
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").split("\n")
    trees: list[Tree] = []
    rows: list[list[str]] = []
    for number, line in enumerate([*lines, ""], start=1):
        row = line.split("\t")
        if line.strip() and not line.startswith("#"):
            if len(row) != 10:
                raise DataError(f"{path}, line {number}: {len(row)} columns, expected 10")
            if row[0].isdigit():
                rows.append(row)
        elif rows and not line.strip():
            trees.append(_tree(rows, f"{path}, above line {number}"))
            rows = []
    return trees


def _tree(rows: list[list[str]], where: str) -> Tree:
    heads = tuple(int(row[6]) - 1 for row in rows)
    if heads.count(ROOT) != 1 or not all(ROOT <= head < len(rows) for head in heads):
        raise DataError(f"{where}: heads {heads} of {len(rows)} words are not a tree with one root")
    columns = list(zip(*rows, strict=True))
    return Tree(columns[1], columns[3], heads, columns[7])


def treebank(part: str = "test", seed: int | None = 0) -> list[Tree]:
    """Return the trees of UD English EWT, manually annotated web texts: `train`, `dev`, `test`.

    They are shuffled by `seed`, because the file is sorted by genre, weblogs first: after shuffling
    a slice is a random sample. `seed=None` keeps the order of the file.
    """
    if part not in ("train", "dev", "test"):
        raise DataError(f"part: {part!r} is not one of train, dev, test")
    found = read_conllu(fetch("ud_english_ewt", f"en_ewt-ud-{part}.conllu.gz"))
    return found if seed is None else shuffled(found, seed)
