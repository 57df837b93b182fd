"""How long the live model in a page takes to answer a change: all passes, all maps, and the layout.

24 words read and, by the untrained snapshots, up to 24 tokens written, in Chromium.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from deepdive_book.ch02.toys.number_words import number_words
from deepdive_book.kit.live import live

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from chromium import program

MOVE = """<script>
const box = document.querySelector(".livemodel"), told = { tokens: [], script: [], layout: [] };
const [heat, training] = box.querySelectorAll("input[type=range]");
const field = box.querySelector("input[type=text]");
const timed = (field, values) => values.map(value => {
  const start = performance.now();
  field.value = value; field.dispatchEvent(new Event("input"));
  const middle = performance.now();
  document.body.offsetHeight;
  told.script.push(middle - start); told.layout.push(performance.now() - middle);
  told.tokens.push(box.querySelectorAll(".answer button").length);
  return performance.now() - start;
});
const words = "neuf cent quatre vingt dix neuf mille ".repeat(4).split(" ").slice(0, 24).join(" ");
told.typing = timed(field, Array.from({ length: 12 }, (_, i) => words + " ".repeat(i)));
told.first = timed(training, [8, 7, 6, 5, 4, 3, 2, 1]);
told.training = timed(training, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
told.temperature = timed(heat, Array.from({ length: 30 }, (_, i) => 2 + i / 10));
told.written = Math.max(...told.tokens);
const mark = "@".repeat(9);
document.body.append(mark + JSON.stringify(told) + mark);
</script>"""


def main() -> None:
    browser = program()
    if browser is None:
        print("needs chromium or google-chrome")
        return
    toy = number_words()
    html = live(toy.model, toy.source, toy.target, "zéro", snapshots=toy.snapshots).html
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{html}{MOVE}", "utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        command += [f"--user-data-dir={folder}/profile", path.as_uri()]
        told = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found = json.loads(told.split("@" * 9)[1])
    print(
        f"24 words read, up to {found['written']} tokens written, {len(html) / 1000:.0f} kB of HTML"
    )
    for name in ("typing", "first", "training", "temperature", "script", "layout"):
        times = found[name]
        middle, most = statistics.median(times), max(times)
        print(f"{name:12} {middle:6.1f} ms  (at most {most:.1f}; aim: below 50)")


if __name__ == "__main__":
    main()
