// The versions of a memory as a picture: what came first stands left, and what took its place right of it.

import { s } from "./dom.js";
import { day, percent } from "./format.js";
import { link } from "./parts.js";

const WIDTH = 196;
const HEIGHT = 112;
const GAP = 104;
const PAD = 14;
const LINES = 3;
const LINE = 18;
const TOP = 6;

const RULES = {
  address: "same key",
  correction: "corrected",
  judge: "judged",
  heuristic: "local judge",
  consolidation: "merged",
  part: "in part",
};

/** What a rule is called. */
export const rule = (name) => RULES[name] ?? name;

/**
 * Draw a chain. `steps` are `{memory, after}`: a version, and the decision that put it in the place of the one before;
 * `asked` is the id that is looked at.
 */
export function chain(profile, steps, asked) {
  const width = steps.length * WIDTH + (steps.length - 1) * GAP + 2 * TOP;
  const names = steps.map(({ memory }) => `version ${memory.id.split("@")[1]}, ${memory.status}`).join("; ");
  const drawn = s("svg", {
    class: "chain",
    role: "group",
    width,
    height: HEIGHT + 2 * TOP,
    viewBox: `0 0 ${width} ${HEIGHT + 2 * TOP}`,
    "aria-label": `Versions, oldest first: ${names}`,
  });
  steps.forEach(({ memory, after }, at) => {
    const x = TOP + at * (WIDTH + GAP);
    if (at) drawn.append(...arrow(x - GAP, x, after));
    drawn.append(card(profile, memory, x, memory.id === asked));
  });
  return drawn;
}

function card(profile, memory, x, here) {
  const live = memory.status === "live";
  const names = ["version", live ? "live" : "", here ? "here" : ""].join(" ");
  const version = memory.id.split("@")[1];
  return s(
    "a",
    {
      href: link(profile, "memory", { id: memory.id }),
      class: names,
      "aria-current": here ? "true" : null,
      "aria-label": `Version ${version}, ${memory.status}: ${memory.text}`,
    },
    s("rect", { x, y: TOP, width: WIDTH, height: HEIGHT, rx: 10 }),
    s("text", { x: x + PAD, y: TOP + 24, class: "number" }, `v${version}`),
    s("text", { x: x + WIDTH - PAD, y: TOP + 24, class: "status", "text-anchor": "end" }, memory.status),
    wrapped(memory.text || "forgotten").map((text, at) => s("text", { x: x + PAD, y: TOP + 47 + at * LINE, class: "words" }, text)),
    s("text", { x: x + PAD, y: TOP + HEIGHT - 11, class: "status" }, day(memory.recorded_at)),
  );
}

function arrow(from, to, after) {
  const y = TOP + HEIGHT / 2;
  const middle = (from + to) / 2;
  const detail = after?.detail ?? {};
  const chance = typeof detail.probability === "number" ? percent(detail.probability) : "";
  return [
    s("path", { class: "arrow", d: `M${from + 8} ${y}H${to - 9}` }),
    s("path", { class: "arrow", d: `M${to - 14} ${y - 5}l5 5l-5 5` }),
    s("text", { class: "why", x: middle, y: y - 10, "text-anchor": "middle" }, detail.rule ? rule(detail.rule) : "then"),
    s("text", { class: "why", x: middle, y: y + 20, "text-anchor": "middle" }, chance),
  ];
}

const canvas = document.createElement("canvas").getContext("2d");

/** Cut a text into lines of a card; what does not fit ends in dots. */
function wrapped(text) {
  canvas.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  const room = WIDTH - 2 * PAD;
  const fits = (one) => canvas.measureText(one).width <= room;
  const lines = [""];
  for (const word of text.slice(0, 400).split(/\s+/)) {
    const next = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (fits(next)) lines[lines.length - 1] = next;
    else if (lines.length === LINES) return [...lines.slice(0, -1), cut(next, fits)];
    else lines.push(fits(word) ? word : cut(word, fits));
  }
  return lines;
}

function cut(text, fits) {
  let kept = [...text];
  while (kept.length && !fits(`${kept.join("")}…`)) kept = kept.slice(0, -1);
  return `${kept.join("").trimEnd()}…`;
}
