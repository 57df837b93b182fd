"""Numbers of chapter 4's clinic, said digit by digit in three languages."""

import torch

LANGUAGES = {
    "English": "zero one two three four five six seven eight nine",
    "German": "null eins zwei drei vier fünf sechs sieben acht neun",
    "Swahili": "sifuri moja mbili tatu nne tano sita saba nane tisa",
}
WORDS = " ".join(LANGUAGES.values()).split()
SHORTEST, LONGEST = 4, 6  # digits


def pairs(count: int, language: str = "German", seed: int = 99) -> list[tuple[str, str]]:
    """Return numbers of four to six digits, said in English and in another language."""
    draw = torch.Generator().manual_seed(seed)
    names = [LANGUAGES[each].split() for each in ("English", language)]
    found = []
    for _ in range(count):
        n = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=draw))
        digits = torch.randint(10, (n,), generator=draw).tolist()
        english, other = (" ".join(words[i] for i in digits) for words in names)
        found.append((english, other))
    return found
