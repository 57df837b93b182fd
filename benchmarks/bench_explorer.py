"""How long the attention explorer takes to answer, in a browser without a window.

A random causal model of 6 layers and 8 heads, its page built from 40 and from 512 tokens. Each
interaction is done 60 times, at other tokens and heads: over a token, over the map, another head,
the table of a head. `work` is script, style and layout; `painted` lasts to the frame after it, and
so holds up to 17 ms of waiting for the screen. The aim is 50 ms. Size of the page, and the seconds
that making it took, are printed.
"""

from __future__ import annotations

import html
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from chromium import program

RESULTS = Path(__file__).resolve().parent / "results" / "explorer.json"
LAYERS, HEADS, TIMES = 6, 8, 60
WORDS = ["the", "animal", "did", "not", "cross", "the", "street"]

# The page counts as loading, so that the browser does not report it, until the frame is closed.
MEASURE = """
<iframe hidden></iframe>
<script>
const hold = document.querySelector("iframe").contentDocument;
hold.open(); hold.write("x");
const box = document.querySelector(".dd-explorer"), details = box.querySelector("details");
const all = what => [...box.querySelectorAll(what)];
const tokens = all(".token"), heads = all("[role=gridcell]");
const map = box.querySelector(".map canvas"), frame = map.getBoundingClientRect();
const acts = {
  "over a token": i => tokens[(i * 37) % tokens.length].dispatchEvent(
    new PointerEvent("pointerover", { bubbles: true })),
  "over the map": i => map.dispatchEvent(new PointerEvent("pointermove", {
    clientX: frame.left + (i * 31) % frame.width, clientY: frame.top + (i * 17) % frame.height,
  })),
  "another head": i => heads[(i * 7 + 1) % heads.length].click(),
  "the table": i => {
    heads[(i * 7 + 1) % heads.length].click();
    details.open = true; details.dispatchEvent(new Event("toggle"));
  },
};
const painted = () => new Promise(done => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = done; port2.postMessage(0);
}));
(async () => {
  const told = {};
  for (const [name, act] of Object.entries(acts)) {
    told[name] = { work: [], painted: [] };
    for (let i = 0; i < TIMES + 3; i++) {
      await painted();
      const start = performance.now();
      act(i); box.getBoundingClientRect();
      const work = performance.now() - start;
      await painted();
      if (i < 3) continue;
      told[name].work.push(work); told[name].painted.push(performance.now() - start);
    }
  }
  const out = document.createElement("pre");
  out.id = "told"; out.textContent = JSON.stringify(told);
  document.body.append(out);
  hold.close();
})();
</script>
"""


def explorer(tokens: int) -> tuple[str, float]:
    """Return the page's HTML and the seconds that making it took, the model's run included."""
    from deepdive.models.transformer.decoder_only import decoder_only
    from deepdive_book.kit.explorer import attention_explorer

    torch.manual_seed(0)
    model = decoder_only(60, d_model=64, n_heads=HEADS, n_layers=LAYERS, d_ff=64, max_length=512)
    names = [WORDS[i % len(WORDS)] for i in range(tokens)]
    inputs = torch.randint(4, 60, (1, tokens))
    start = time.perf_counter()
    page = attention_explorer(model, inputs, names, start=("decoder", 2, 3)).html
    return page, time.perf_counter() - start


def measure(browser: str, page: str) -> dict[str, dict[str, list[float]]]:
    """Return interaction -> milliseconds, in a browser of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        body = page + MEASURE.replace("TIMES", str(TIMES))
        path.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{body}", encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--window-size=1200,1600", f"--user-data-dir={folder}/profile"]
        command += ["--dump-dom", path.as_uri()]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r'<pre id="told">(.*?)</pre>', told)
    assert found, "the page did not answer"
    answer: dict[str, dict[str, list[float]]] = json.loads(html.unescape(found[1]))
    return answer


def main() -> int:
    browser = program()
    if browser is None:
        print("needs chromium or google-chrome", file=sys.stderr)
        return 1
    rows = []
    print("tokens  interaction                   work ms (worst)   painted ms (worst)")
    for tokens in (40, 512):
        page, seconds = explorer(tokens)
        for name, times in measure(browser, page).items():
            row = {"name": "explorer", "tokens": tokens, "setting": name}
            for kind, values in times.items():
                row |= {f"{kind}_ms": statistics.median(values), f"{kind}_worst_ms": max(values)}
            rows.append(row)
            print(
                f"{tokens:6}  {name:27} {row['work_ms']:9.1f} ({row['work_worst_ms']:.1f})"
                f" {row['painted_ms']:13.1f} ({row['painted_worst_ms']:.1f})"
            )
        print(f"{tokens:6}  page of {len(page) / 1000:.0f} kB, made in {seconds:.1f} s")
    told = {"cores": os.cpu_count(), "times": TIMES, "rows": rows}
    RESULTS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
