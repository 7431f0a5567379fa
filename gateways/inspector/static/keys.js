// Keys that lead around, and the list of them under `?`.

import { h } from "./dom.js";
import { button, dialog } from "./parts.js";
import { turn } from "./scheme.js";

const GOES = {
  p: ["profiles", "Profiles"],
  m: ["memories", "Memories"],
  r: ["recall", "Recall"],
  t: ["timeline", "Timeline"],
  f: ["feed", "Live feed"],
  s: ["sessions", "Sessions"],
  v: ["projections", "Projections"],
  c: ["settings", "Settings"],
  a: ["audit", "Audit"],
  x: ["export", "Export"],
};
const WAIT = 1_200;

/** Show every key. */
export function keys() {
  if (document.querySelector("dialog[open]")) return;
  const rows = [
    ["?", "This list"],
    ["/", "To the first field of the page"],
    ["d", "Light, dark, or as the system has it"],
    ["Esc", "Close what is open"],
    ...Object.entries(GOES).map(([key, [, title]]) => [`g ${key}`, title]),
  ];
  dialog("Keyboard shortcuts", (close) => [
    h("dl", { class: "keys" }, rows.map(([key, text]) => [h("dt", null, key.split(" ").map((one) => [h("kbd", null, one), " "])), h("dd", null, text)])),
    h("div", { class: "acts" }, button("Close", close, "", { autofocus: true })),
  ]);
}

/** Listen to keys; where one writes, they are letters. */
export function listen({ goes }) {
  let leading = 0;
  document.addEventListener("keydown", (event) => {
    const writes = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (writes || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const led = Date.now() - leading < WAIT;
    leading = 0;
    if (led && GOES[event.key]) return goes(GOES[event.key][0]);
    if (event.key === "g") leading = Date.now();
    else if (event.key === "?") keys();
    else if (event.key === "d") turn();
    else if (event.key === "/") {
      event.preventDefault();
      document.querySelector("main input, main textarea, main select")?.focus();
    }
  });
}
