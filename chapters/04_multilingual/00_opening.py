# %% [markdown] tags=["slide"]
# # Chapter 4: One model, a hundred languages
#
# *Saksa*, *Allemagne*, *Niemcy*, *ドイツ*: four names, hardly a letter in common, one country.
# Nobody can label reviews, questions and news in seven thousand languages. What if one model read a
# hundred of them, were taught a task in one, and did it in the others? What must it be told, who
# pays for whom, and what is it that crosses?
#
# <small>Book 4 · before this page: [BERT](../03_bert/02_architecture.ipynb) · 2 min to read ·
# all its pages together: 3 hours</small>

# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
SOURCE = ""  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install` it"
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}, and run this cell again")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)

# %% One country tags=["fold", "nbval-check-output"]
from babel import Locale

from deepdive.page.tables import table

LOCALES = ("de", "fr", "fi", "pl", "es", "tr", "ru", "el", "hi", "zh", "ja", "ar", "sw")
locales = [Locale(name) for name in LOCALES]
table([{"language": one.get_display_name("en"), "its name": one.territories["DE"]}
       for one in locales], caption="one country in thirteen languages (CLDR's names)")  # fmt: skip

# %% [markdown]
# The first pages ask what a model must be told, who gets how many pieces of one vocabulary, and
# which lesson joins *milk* and *lait*. Then a sentence and its translation are brought to one
# place, a writer that has only mended sentences is asked to translate, a model reads letters and
# has no pieces at all, and an encoder is tested in twenty-four languages, and asked questions in
# twelve. The last two pages ask what it is that crosses from one language to another, in English
# that was written in other letters, and where in one space each language lies.
#
# Real text is sentences in twenty-four languages (sib200), pairs of translations (Tatoeba), and
# tagged sentences (ud_english_ewt). Where a page has no network and no data, it works on generated
# text, and says so.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 4.1 | [One model for many languages](01_one_model.ipynb) | What must it be told? | 15 |
# | 4.2 | [Who gets how many pieces?](02_vocabulary.ipynb) | Who pays for whom? | 15 |
# | 4.3 | [Gaps in two languages](03_gaps_in_two_languages.ipynb) | Which lesson joins words? | 20 |
# | 4.4 | [Two encoders, one place](04_two_encoders.ipynb) | How are translations found? | 20 |
# | 4.5 | [Taught to mend, asked to translate](05_writers.ipynb) | What is mending worth? | 20 |
# | 4.6 | [Letters as they come](06_letters.ipynb) | Must a model have a vocabulary? | 20 |
# | 4.7 | [Does it serve every language?](07_benchmarks.ipynb) | How does one measure it? | 20 |
# | 4.8 | [Asked in one language, learned in another](08_questions.ipynb) | What is right? | 20 |
# | 4.9 | [What crosses from one language to another?](09_factors.ipynb) | Why does it work? | 20 |
# | 4.10 | [One space for all languages?](10_one_space.ipynb) | Where does each language lie? | 20 |
#
# After the pages come [exercises](exercises.ipynb) and a [bug clinic](clinic.ipynb).
