// Every profile that the caller may see.

import { get, path } from "./api.js";
import { h } from "./dom.js";
import { count, counted, seconds, size } from "./format.js";
import { days, empty, facts, head, link, section, table } from "./parts.js";

const ASKED = 40;

export async function profiles({ signal }) {
  const [{ profiles: found }, status] = await Promise.all([
    get("/v1/profiles", {}, { signal }),
    get("/v1/status", {}, { signal }),
  ]);
  const lags = await lagging(found.slice(0, ASKED), signal);
  return [
    head("Profiles", "Each is a memory of its own: its messages, what was learnt from them, and its keys."),
    found.length ? table("Profiles", columns(lags), found) : none(),
    section("Service", h("div", { class: "card pad" }, service(status))),
  ];
}

/** How far behind each profile is; who may not ask is told nothing. */
async function lagging(found, signal) {
  const asked = found.map((one) => get(path`/v1/profiles/${one.name}/status`, {}, { signal }).catch(() => null));
  return new Map((await Promise.all(asked)).map((status, at) => [found[at].name, status]));
}

const columns = (lags) => [
  { name: "Profile", cell: (one) => h("a", { class: "strong", href: link(one.name, "memories") }, one.name) },
  { name: "Memories", number: true, cell: (one) => count(one.memories) },
  { name: "Messages", number: true, cell: (one) => count(one.messages) },
  { name: "Pending", number: true, cell: (one) => waits(one) },
  { name: "Behind", number: true, cell: (one) => behind(lags.get(one.name)) },
  { name: "On disk", number: true, cell: (one) => size(one.bytes) },
  { name: "Since", number: true, cell: (one) => days(one.created_at) },
];

function waits(one) {
  return one.failed ? h("span", { class: "wrong" }, `${count(one.pending)}, ${count(one.failed)} failed`) : count(one.pending);
}

function behind(status) {
  if (!status) return h("span", { class: "mute" }, "–");
  return status.lag_events ? `${counted(status.lag_events, "event")}, ${seconds(status.lag_seconds)}` : h("span", { class: "mute" }, "no");
}

function none() {
  return empty("Nothing is remembered yet", "A profile appears with the first thing that is written into it.", h("code", null, 'umbriel remember "Mara lives in Porto" --key "home city"'));
}

function service(status) {
  return facts({
    Version: status.version,
    Log: `${counted(status.log_events, "event")}, ${size(status.log_bytes)}`,
    Views: size(status.views_bytes),
    "Up for": seconds(status.uptime_seconds),
    Pending: count(status.pending),
    Failed: count(status.failed),
    "You are": `${status.principal}, ${status.principal_type === "person" ? "a person" : "an agent"}`,
    Halted: status.halted,
  });
}
