// The frame around the pages: who is in, which profile, which page; and the keys that lead around.

import { get, leave, login, session } from "./api.js";
import { h, s, say, show } from "./dom.js";
import { counted, seconds } from "./format.js";
import { keys, listen } from "./keys.js";
import { entrance } from "./page-login.js";
import { choice, failed, link, waiting } from "./parts.js";
import { scheme } from "./scheme.js";
import { profiles } from "./page-profiles.js";
import { memories } from "./page-memories.js";
import { memory } from "./page-memory.js";
import { recall } from "./page-recall.js";
import { timeline } from "./page-timeline.js";
import { feed } from "./page-feed.js";
import { sessions } from "./page-sessions.js";
import { projections } from "./page-projections.js";
import { settings } from "./page-settings.js";
import { audit } from "./page-audit.js";
import { exporting } from "./page-export.js";

const PAGES = {
  memories: { title: "Memories", load: memories },
  memory: { title: "Memory", load: memory, under: "memories" },
  recall: { title: "Recall", load: recall },
  timeline: { title: "Timeline", load: timeline },
  feed: { title: "Live feed", load: feed },
  sessions: { title: "Sessions", load: sessions },
  projections: { title: "Projections", load: projections },
  settings: { title: "Settings", load: settings },
  audit: { title: "Audit", load: audit },
  export: { title: "Export", load: exporting },
};
const LINKS = Object.keys(PAGES).filter((name) => !PAGES[name].under);
const POLL = 15_000;

const app = document.getElementById("app");
const state = { ending: null, names: [], frame: null, profile: "" };

/** What the address says: a profile, a page of it, and its parameters. */
function place() {
  const [where, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [profile, name] = where.split("/").map(decoded);
  return { profile: profile ?? "", name: name || "memories", query: new URLSearchParams(query ?? "") };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function start() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (location.hash.startsWith("#code=")) {
    // The code is gone from the address before anything else happens.
    history.replaceState(null, "", location.pathname);
    show(app, h("main", { class: "main" }, waiting("Letting you in")));
    try {
      await login(given.get("code") ?? "");
    } catch (error) {
      return entrance(app, enter, error);
    }
    if (given.get("profile")) history.replaceState(null, "", link(given.get("profile"), "memories"));
  }
  if (session.token) await enter();
  else entrance(app, enter);
}

async function enter() {
  try {
    state.who = await get("/v1/status");
    state.names = (await get("/v1/profiles")).profiles.map((one) => one.name);
  } catch (error) {
    if (error.status === 401) return out(error);
    return show(app, h("main", { class: "main" }, failed(error, enter)));
  }
  frame();
  await route();
}

function out(error) {
  state.ending?.abort();
  session.end();
  state.frame = null;
  entrance(app, enter, error);
}

function frame() {
  const nav = h("nav", { class: "links", "aria-label": "Pages" });
  const profile = h("div", { class: "field" });
  const standing = h("p");
  const main = h("main", { class: "main", id: "main", tabindex: -1 });
  const side = h("header", { class: "side" });
  const menu = h("button", { type: "button", class: "menu", "aria-expanded": "false", onclick: () => unfold() }, "Menu");
  const unfold = (open = !side.classList.contains("open")) => {
    side.classList.toggle("open", open);
    menu.setAttribute("aria-expanded", String(open));
  };
  show(
    side,
    h("div", { class: "top" }, brand(), menu),
    h("div", { class: "folds" }, profile, nav, foot(standing)),
  );
  state.frame = { nav, profile, standing, main, unfold };
  const skip = h("a", { class: "skip", href: "#main", onclick: skipped }, "Skip to the content");
  show(app, skip, h("div", { class: "frame" }, side, main));
  stand(state.who);
}

function skipped(event) {
  event.preventDefault();
  state.frame.main.focus();
}

function brand() {
  const moon = s("svg", { viewBox: "0 0 32 32", "aria-hidden": "true" });
  moon.append(s("circle", { class: "moon", cx: 16, cy: 16, r: 14 }), s("circle", { class: "dark", cx: 20.5, cy: 13, r: 9.5 }));
  return h("a", { class: "brand", href: "#/" }, moon, "Umbriel");
}

function foot(standing) {
  const away = async () => {
    await leave();
    out();
  };
  return h(
    "div",
    { class: "foot" },
    standing,
    h("p", { class: "row" }, h("span", { class: "said" }, state.who.principal), h("button", { type: "button", class: "plain", onclick: away }, "Log out")),
    h("p", { class: "row" }, scheme(), h("button", { type: "button", class: "plain", "aria-label": "Keyboard shortcuts", onclick: keys }, h("kbd", null, "?"))),
  );
}

function stand(status) {
  const waits = [
    status.pending ? `${counted(status.pending, "piece")} pending` : "",
    status.lag_events ? `${seconds(status.lag_seconds)} behind` : "",
    status.failed ? `${status.failed} failed` : "",
  ].filter(Boolean);
  show(state.frame.standing, status.halted || waits.join(", ") || "Up to date");
}

function links({ profile, name }) {
  const { nav, profile: chosen } = state.frame;
  const current = PAGES[name]?.under ?? name;
  if (!profile) {
    show(chosen);
    return show(nav, h("a", { href: "#/", "aria-current": "page" }, "Profiles"));
  }
  const names = state.names.includes(profile) ? state.names : [...state.names, profile];
  const to = (event) => (location.hash = link(event.target.value, current));
  show(chosen, h("label", { for: "profile", class: "unseen" }, "Profile"), choice(names, profile, { id: "profile", onchange: to }));
  show(
    nav,
    LINKS.map((one) =>
      h("a", { href: link(profile, one), "aria-current": one === current ? "page" : null }, PAGES[one].title),
    ),
  );
}

/** Show the page that the address names; what the page before still did is ended. */
async function route() {
  if (!state.frame) return;
  state.ending?.abort();
  for (const open of document.querySelectorAll("dialog[open]")) open.close();
  state.ending = new AbortController();
  const { signal } = state.ending;
  const there = place();
  const page = there.profile ? PAGES[there.name] : { title: "Profiles", load: profiles };
  const same = state.shown === `${there.profile}/${there.name}`;
  state.shown = `${there.profile}/${there.name}`;
  const { main } = state.frame;
  state.frame.unfold(false);
  links(there);
  if (!page) return show(main, failed({ message: "There is no such page" }));
  document.title = `${page.title}${there.profile ? ` · ${there.profile}` : ""} · Umbriel`;
  if (!same) show(main, waiting());
  const ctx = { ...there, signal, names: state.names, who: state.who, go: (query) => go(there, query), again: route };
  try {
    const made = await page.load(ctx);
    if (signal.aborted) return;
    const kept = same ? controls(main).indexOf(document.activeElement) : -1;
    show(main, made);
    if (kept >= 0) controls(main)[kept]?.focus({ preventScroll: true });
    if (!same) arrive(main, page.title);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    if (error.status === 401) return out(error);
    show(main, failed(error, route));
  }
}

const controls = (main) => [...main.querySelectorAll("input, select, textarea, button")];

function arrive(main, title) {
  window.scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
  say(title);
}

/** Go on with other parameters on the same page. */
function go(there, query) {
  const next = link(there.profile, there.name, query);
  if (next === location.hash) route();
  else location.hash = next;
}

async function poll() {
  if (!state.frame || document.hidden) return;
  try {
    stand(await get("/v1/status"));
  } catch (error) {
    if (error.status === 401) out(error);
    else show(state.frame.standing, h("span", { class: "wrong" }, "The service does not answer"));
  }
}

window.addEventListener("hashchange", () => (location.hash.startsWith("#code=") ? start() : route()));
setInterval(poll, POLL);
listen({
  goes: (name) => {
    const { profile } = place();
    if (name === "profiles") location.hash = "#/";
    else if (profile) location.hash = link(profile, name);
  },
});
start();
