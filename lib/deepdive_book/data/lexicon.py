"""The words of the English-French grammar in `deepdive_book.data.grammar`, with their forms."""

from dataclasses import dataclass

VOWELS = "aeiouyhâàéèêëîïôœ"  # every French word here with an h elides


@dataclass(frozen=True)
class Subject:
    english: str
    french: str
    person: int  # 0..5: je tu il nous vous ils
    feminine: bool = False

    @property
    def plural(self) -> bool:
        return self.person >= 3


@dataclass(frozen=True)
class Noun:
    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    kind: str


@dataclass(frozen=True)
class Verb:
    english: str
    english_third: str
    french: tuple[str, ...]
    kinds: str  # the kinds of nouns that may be its object


def _noun(line: str) -> Noun:
    english, plural, french, french_plural, gender, kind = line.split()
    return Noun(english, plural, french, french_plural, gender == "f", kind)


def _verb(english: str, third: str, forms: str, kinds: str) -> Verb:
    return Verb(english, third, tuple(forms.split()), kinds)


SUBJECTS = [
    Subject("I", "je", 0),
    Subject("you", "tu", 1),
    Subject("he", "il", 2),
    Subject("she", "elle", 2, feminine=True),
    Subject("we", "nous", 3),
    Subject("they", "ils", 5),
    Subject("Paul", "Paul", 2),
    Subject("Marie", "Marie", 2, feminine=True),
    Subject("my brother", "mon frère", 2),
    Subject("my sister", "ma sœur", 2, feminine=True),
    Subject("the woman", "la femme", 2, feminine=True),
    Subject("the man", "l'homme", 2),
    Subject("the children", "les enfants", 5),
    Subject("the girls", "les filles", 5, feminine=True),
    Subject("my friends", "mes amis", 5),
]

# English, its plural, French, its plural, gender; f food, r what is read, a animal, t thing
NOUNS = [
    _noun(line)
    for line in (
        "apple apples pomme pommes f f",
        "orange oranges orange oranges f f",
        "egg eggs œuf œufs m f",
        "cake cakes gâteau gâteaux m f",
        "book books livre livres m r",
        "letter letters lettre lettres f r",
        "newspaper newspapers journal journaux m r",
        "story stories histoire histoires f r",
        "cat cats chat chats m a",
        "horse horses cheval chevaux m a",
        "bird birds oiseau oiseaux m a",
        "cow cows vache vaches f a",
        "house houses maison maisons f t",
        "car cars voiture voitures f t",
        "chair chairs chaise chaises f t",
        "tree trees arbre arbres m t",
        "coat coats manteau manteaux m t",
        "flower flowers fleur fleurs f t",
    )
]

VERBS = [
    _verb("eat", "eats", "mange manges mange mangeons mangez mangent", "f"),
    _verb("read", "reads", "lis lis lit lisons lisez lisent", "r"),
    _verb("write", "writes", "écris écris écrit écrivons écrivez écrivent", "r"),
    _verb("see", "sees", "vois vois voit voyons voyez voient", "frat"),
    _verb("want", "wants", "veux veux veut voulons voulez veulent", "frat"),
    _verb("have", "has", "ai as a avons avez ont", "frat"),
    _verb("buy", "buys", "achète achètes achète achetons achetez achètent", "frat"),
    _verb("sell", "sells", "vends vends vend vendons vendez vendent", "frat"),
    _verb("find", "finds", "trouve trouves trouve trouvons trouvez trouvent", "frat"),
    _verb("love", "loves", "aime aimes aime aimons aimez aiment", "rat"),
    _verb("look for", "looks for", "cherche cherches cherche cherchons cherchez cherchent", "frat"),
    _verb("look at", "looks at", "regarde regardes regarde regardons regardez regardent", "frat"),
]

# English: (masculine, before a vowel, feminine, masculine plural, feminine plural), before the noun
BEFORE = {
    "big": ("grand", "grand", "grande", "grands", "grandes"),
    "small": ("petit", "petit", "petite", "petits", "petites"),
    "beautiful": ("beau", "bel", "belle", "beaux", "belles"),
    "old": ("vieux", "vieil", "vieille", "vieux", "vieilles"),
    "new": ("nouveau", "nouvel", "nouvelle", "nouveaux", "nouvelles"),
}
BEHIND = {  # the same, behind the noun
    "red": ("rouge", "rouge", "rouge", "rouges", "rouges"),
    "white": ("blanc", "blanc", "blanche", "blancs", "blanches"),
    "black": ("noir", "noir", "noire", "noirs", "noires"),
    "green": ("vert", "vert", "verte", "verts", "vertes"),
}
PREDICATES = {  # masculine, feminine, masculine plural, feminine plural
    "happy": ("heureux", "heureuse", "heureux", "heureuses"),
    "tired": ("fatigué", "fatiguée", "fatigués", "fatiguées"),
    "tall": ("grand", "grande", "grands", "grandes"),
    "sad": ("triste", "triste", "tristes", "tristes"),
    "ready": ("prêt", "prête", "prêts", "prêtes"),
    "sick": ("malade", "malade", "malades", "malades"),
    "kind": ("gentil", "gentille", "gentils", "gentilles"),
    "alone": ("seul", "seule", "seuls", "seules"),
}
TO_BE = ("suis", "es", "est", "sommes", "êtes", "sont")
TO_HAVE = ("ai", "as", "a", "avons", "avez", "ont")

# English, then French before a masculine, a feminine, a vowel (singular), and any plural noun
DETERMINERS = {
    "the": ("le ", "la ", "l'", "les "),
    "my": ("mon ", "ma ", "mon ", "mes "),
    "your": ("ton ", "ta ", "ton ", "tes "),
    "our": ("notre ", "notre ", "notre ", "nos "),
    "this": ("ce ", "cette ", "", "ces "),
}
