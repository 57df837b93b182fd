const { wide, left, top: above, high, bars: foot, every } = spec;
const label = (x, y, text, anchor) => make("text", { x, y, "font-size": 12, "text-anchor": anchor,
  fill: "currentColor" }, text);
const describe = ({ text, words, step }, weights, center) => {
  const { letter } = state, word = [...text.slice(0, letter)].filter(c => c === " ").length + 1;
  const place = letter === text.length ? "The decision to stop" : `Letter ${letter + 1} of ` +
    `${text.length}, ${text[letter] === " " ? "the space after" : `${text[letter]} of`} word ${word}`;
  const largest = Math.max(...weights), peak = every * weights.indexOf(largest);
  const inside = words.find(([, first, last]) => first <= peak && peak < last);
  return `${place}: the largest weight is ${(largest / 1000).toFixed(2)}, at ${(peak * step).toFixed(2)} s, ` +
    `${inside ? `in ${inside[0].toLowerCase()}` : "outside all words"}; the centre of all is at ` +
    `${(center * step).toFixed(2)} s.`;
};
const draw = () => {
  const recording = spec.recordings[state.recording], { text, words, frames, step } = recording;
  const weights = recording.weights[state.head][state.letter], x = frame => left + (wide - 2 * left) * frame / frames;
  find(".letters-sound").setAttribute("href", recording.png);
  const seconds = frames * step, gap = seconds < 2.4 ? 0.5 : 1;
  find(".letters-words").replaceChildren(...words.flatMap(([word, first, last]) => [
    label((x(first) + x(last)) / 2, 14, word.toLowerCase(), "middle"),
    make("path", { d: `M${x(last)} 4V${foot}`, stroke: "#888",
      "stroke-width": 1, "stroke-dasharray": "4 3" })]),
  ...Array.from({ length: Math.floor(seconds / gap) + 1 }, (_, k) =>
    label(x(k * gap / step), spec.foot - 4, `${k * gap} s`, k ? "middle" : "start")));
  const most = Math.max(1, ...weights), total = Math.max(1, weights.reduce((a, b) => a + b, 0));
  const center = every * weights.reduce((sum, weight, s) => sum + s * weight, 0) / total;
  find(".letters-bars").replaceChildren(...weights.map((weight, s) => {
    const height = (foot - above - high - 6) * weight / most;
    return make("rect", { x: x(every * s), y: foot - height, height, fill: colors.weight,
      width: 0.86 * (wide - 2 * left) * every / frames });
  }), make("path", { d: `M${x(center + every / 2)} ${foot + 3}l6 10h-12z`, fill: colors.query }));
  const row = find(".letters-row"), focused = row.contains(document.activeElement);
  row.replaceChildren(...[...text, "end"].map((c, i) => {
    const button = make("button", { type: "button", "aria-pressed": i === state.letter,
      "aria-label": { " ": "space", end: "the end" }[c] ?? c }, c === " " ? "␣" : c);
    button.onclick = () => { state.letter = i; update(); };
    return button;
  }));
  if (focused) row.children[state.letter].focus();
  all("audio").forEach((player, i) => {
    player.hidden = i !== state.recording;
    if (player.hidden) player.pause();
  });
  return describe(recording, weights, center);
};
on("recording", () => { state.letter = 0; });
onArrows(find(".letters-row"), right => {
  state.letter = clamp(state.letter + right, spec.recordings[state.recording].text.length);
});
