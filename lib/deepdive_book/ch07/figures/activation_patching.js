const heads = all(".patch-heads button"), rows = all(".patch-rows button");
const current = () => spec.cases[state.text];
const ends = () => state.way ? current().numbers : [...current().numbers].reverse();
const percent = value => {
  const [start, end] = ends();
  return Math.round(100 * (value - start) / (end - start)) + 0;
};
const headValue = set => current().heads[state.way][set.reduce((sum, h) => sum + (1 << h), 0)];
const rowValue = i => current().rows[state.way][i];
const show = (cell, key, value, name) => {
  const visible = !state.hidden || state.seen.includes(key), part = percent(value);
  const share = cell.querySelector(".patch-share") ?? cell;
  share.textContent = visible ? part + (share === cell ? "" : " %") : "?";
  cell.style.setProperty("--share", visible ? clamp(part, 100) : 0);
  if (name) cell.setAttribute("aria-label", `${share.textContent} ${name}`);
};
const draw = () => {
  const { clean, other, said, numbers } = current(), [start, end] = ends(), { chosen, row } = state;
  const texts = state.way ? [clean, other] : [other, clean], answers = state.way ? [0, 1] : [1, 0];
  all(".patch-run").forEach((run, r) => {
    const [line, answer] = run.querySelectorAll(":scope > span");
    line.replaceChildren(...texts[r].flatMap((word, i) => [...(i ? [" "] : []),
      word === texts[1 - r][i] ? word : make("mark", {}, word)]));
    answer.textContent = `answer: ${said[answers[r]]} (${numbers[answers[r]].toFixed(0)})`;
  });
  write("thead th + th", texts[0]);
  const titles = all(".patch-rows tbody th").map(cell => cell.textContent), T = texts[0].length;
  const named = i => `${titles[Math.floor(i / T)]} ${texts[0][i % T]}`;
  heads.forEach((cell, h) => {
    cell.setAttribute("aria-pressed", chosen.includes(h));
    show(cell, `head${h}`, headValue([h]));
  });
  rows.forEach((cell, i) => {
    cell.setAttribute("aria-pressed", i === row);
    show(cell, `row${i}`, rowValue(i), named(i));
  });
  const value = row >= 0 ? rowValue(row) : headValue(chosen);
  const [low, high] = [Math.min(start, end), Math.max(start, end)];
  find(".patch-dot").style.left = `${100 * (value - low) / (high - low)}%`;
  write(".patch-ends span", [low, high].map(end => `${end.toFixed(0)} (${said[numbers.indexOf(end)]})`));
  const parts = row >= 0 ? [named(row)]
    : [...chosen].sort().map(h => heads[h].querySelector(".patch-name").textContent);
  return parts.length ? `Put in: ${parts.join(", ")}. The answer goes from ${start.toFixed(0)} to `
    + `${value.toFixed(0)}: ${percent(value)} % of the way to ${end.toFixed(0)}.`
    : "Nothing is put in. Choose a head, or a row of the stream.";
};
const empty = () => Object.assign(state, { chosen: [], row: -1, seen: [] });
for (const name of ["text", "way", "clear", "hidden"]) on(name, empty);
heads.forEach((cell, h) => {
  cell.disabled = false;
  cell.onclick = () => {
    const { chosen } = state;
    state.row = -1;
    state.chosen = chosen.includes(h) ? chosen.filter(k => k !== h) : [...chosen, h];
    if (state.chosen.length === 1) state.seen.push(`head${state.chosen[0]}`);
    update();
  };
});
rows.forEach((cell, i) => {
  cell.disabled = false;
  cell.onclick = () => {
    Object.assign(state, { chosen: [], row: state.row === i ? -1 : i });
    state.seen.push(`row${i}`);
    update();
  };
});
