// Light, dark, or as the system has it; what was chosen stays with this browser.

import { h, say, show } from "./dom.js";

const KEY = "umbriel.scheme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const NAMES = { auto: "As the system", light: "Light", dark: "Dark" };

const chosen = () => (localStorage.getItem(KEY) in NEXT ? localStorage.getItem(KEY) : "auto");

function apply() {
  if (chosen() === "auto") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = chosen();
}

/** Take the next one. */
export function turn() {
  localStorage.setItem(KEY, NEXT[chosen()]);
  apply();
  for (const one of document.querySelectorAll("[data-turns]")) show(one, NAMES[chosen()]);
  say(`Colours: ${NAMES[chosen()]}`);
}

/** The switch. */
export function scheme() {
  return h("button", { type: "button", class: "plain", "data-turns": "", title: "Colours", onclick: turn }, NAMES[chosen()]);
}

apply();
