const bar = ([mean, low, high]) => make("span", { class: "method-scale" },
  make("span", { class: "method-mean", style: `width:${mean}%` }),
  make("span", { class: "method-interval", style: `left:${low}%;width:${high - low}%` }));
const row = (way, reason, kind) => {
  const value = way.right[kind], runs = way.runs ? `${way.runs} run${way.runs === 1 ? "" : "s"}, ` : "";
  return make("li", reason ? { class: "method-excluded" } : {}, make("b", {}, way.name),
    ...(value ? [bar(value)] : []), make("span", { class: "method-text" },
      make("span", {}, value ? `${value[0]} % [${value[1]}, ${value[2]}]` : ""), " ",
      make("small", {}, `${runs}page ${way.page}`), " ", make("i", {}, reason)));
};
const draw = () => {
  const about = spec.about[state.about], kind = spec.kinds[state.kind], runs = spec.runs[state.runs];
  const reason = way => way.about !== about ? "answers another question"
    : spec.levels.indexOf(way.needs) > state.needs ? `needs ${spec.needs[way.needs].replace(/ (too|only)$/, "")}`
      : way.runs > runs ? `takes ${way.runs} runs` : "";
  const height = way => (way.right[kind] || [0])[0];
  const order = spec.ways.map((way, i) => ({ way, i, reason: reason(way) }));
  order.sort((a, b) => !!a.reason - !!b.reason || height(b.way) - height(a.way) || a.i - b.i);
  find(".method-list").replaceChildren(...order.map(each => row(each.way, each.reason, kind)));
  const able = order.filter(each => !each.reason).map(each => each.way);
  if (!able.length) return "Nothing is left: allow more.";
  if (about !== "answer") return `To be read on: ${able.map(w => `${w.name}, page ${w.page}`).join("; ")}.`;
  const [best, ...others] = able, low = best.right[kind][1];
  const near = others.filter(w => w.right[kind][2] >= low).map(w => w.name);
  return `First of ${able.length}: ${best.name}, ${best.right[kind][0]} %.`
    + (near.length ? ` Its interval overlaps with: ${near.join(", ")}.` : "");
};
