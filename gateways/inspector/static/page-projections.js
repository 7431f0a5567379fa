// The views that answer: where they stand, and how they are made anew from the log.

import { get, path, pause, post } from "./api.js";
import { h, say, show } from "./dom.js";
import { count, counted, seconds, sequence, size } from "./format.js";
import { bar, button, empty, failed, head, facts, section, table } from "./parts.js";

const POLL = 250;
const STATES = {
  running: "Replaying the log",
  paused: "Paused",
  verifying: "Comparing with the views that serve",
  switched: "Done: the new generation serves",
  failed: "Failed: the present generation serves on",
  cancelled: "Cancelled",
};

export async function projections(ctx) {
  const { profile, signal } = ctx;
  const status = await get(path`/v1/profiles/${profile}/status`, {}, { signal });
  const act = async (action, views = []) => {
    const reply = await post(path`/v1/profiles/${profile}/rebuild`, { action, views, wait: false }, { signal });
    watch(ctx, place, reply, act);
  };
  const place = h("div", { class: "stack", "aria-live": "polite" });
  const tried = (action, views) => act(action, views).catch((error) => show(place, failed(error)));
  if (!status.rebuild) show(place, h("p", { class: "mute" }, "There was none yet."));
  else watch(ctx, place, status.rebuild, act);
  const start = button("Rebuild all", () => tried("start"), "main-act");
  return [
    head("Projections", "Views hold nothing of their own. Each can be made anew from the log while the present one answers.", start),
    h("div", { class: "card pad" }, facts(standing(status))),
    section("Views", status.views.length ? table("Views", columns(status, tried), status.views) : empty("Not open", "The first question opens this profile's views.")),
    section("Rebuild", place),
    work(status),
  ];
}

const standing = (status) => ({
  Log: count(sequence(status.log_position)),
  Applied: count(sequence(status.applied)),
  Complete: count(sequence(status.complete)),
  Behind: status.lag_events ? `${counted(status.lag_events, "event")}, ${seconds(status.lag_seconds)}` : "no",
  Pending: count(status.pending),
  Failed: count(status.failed),
  "To be read": counted(status.unread ?? 0, "message"),
  "To be judged": counted(status.unjudged ?? 0, "memory", "memories"),
});

const columns = (status, act) => [
  { name: "View", cell: (one) => one.view },
  { name: "Generation", cell: (one) => h("span", { class: "mono" }, one.generation) },
  { name: "Position", number: true, cell: (one) => count(sequence(one.position)) },
  { name: "Behind", number: true, cell: (one) => lag(status, one) },
  { name: "Items", number: true, cell: (one) => count(one.items) },
  { name: "On disk", number: true, cell: (one) => size(one.bytes) },
  { name: "State", cell: (one) => one.stopped || one.outdated || "serves" },
  { name: "", cell: (one) => button("Rebuild", () => act("start", [one.view]), "", { "aria-label": `Rebuild ${one.view}` }) },
];

/** A view stands where this profile's last event was applied: it is behind only while the reader is. */
const lag = (status, view) => (status.lag_events ? count(Math.max(0, sequence(status.log_position) - sequence(view.position))) : "0");

async function watch({ profile, signal, again }, place, reply, act) {
  const was = reply.state;
  for (;;) {
    show(place, progress(reply, (action) => act(action).catch((error) => show(place, failed(error)))));
    if (!["running", "verifying"].includes(reply.state)) break;
    await pause(POLL, signal).catch(() => null);
    if (signal.aborted) return;
    try {
      reply = await post(path`/v1/profiles/${profile}/rebuild`, { action: "status" }, { signal });
    } catch (error) {
      if (error.name !== "AbortError") show(place, failed(error));
      return;
    }
  }
  if (["running", "verifying"].includes(was) && reply.state === "switched") {
    say("The new generation serves");
    again();
  }
}

function progress(reply, act) {
  const under = ["running", "paused", "verifying"].includes(reply.state);
  const kept = Object.keys(reply.kept ?? {}).length > 0;
  return h(
    "div",
    { class: "card pad stack" },
    h("p", { class: "strong", "data-state": reply.state }, STATES[reply.state] ?? reply.state),
    bar(reply.state === "switched" ? 1 : reply.events, reply.state === "switched" ? 1 : Math.max(1, reply.total ?? 0), "Rebuild"),
    h(
      "p",
      { class: "meta" },
      h("span", null, `${reply.views?.join(", ") ?? ""} · ${reply.generation}`),
      h("span", null, `${count(reply.events)} of ${counted(reply.total ?? 0, "event")}`),
      reply.rate ? h("span", null, `${count(Math.round(reply.rate))}/s`) : null,
      h("span", null, seconds(reply.seconds)),
      under && reply.eta ? h("span", null, `about ${seconds(reply.eta)} left`) : null,
    ),
    reply.error ? h("p", { class: "wrong said" }, reply.error) : null,
    h(
      "div",
      { class: "row" },
      reply.state === "running" ? button("Pause", () => act("pause")) : null,
      reply.state === "paused" ? button("Resume", () => act("resume")) : null,
      under ? button("Cancel", () => act("cancel")) : null,
      !under && kept ? button("Serve the generation before again", () => act("rollback")) : null,
    ),
  );
}

function work(status) {
  if (!status.work?.length) return null;
  return section(
    "Outstanding work",
    table(
      "Outstanding work",
      [
        { name: "State", cell: (one) => one.state },
        { name: "Work", cell: (one) => h("span", { class: "said" }, one.work) },
        { name: "Position", number: true, cell: (one) => count(sequence(one.position)) },
        { name: "Reason", cell: (one) => h("span", { class: "said" }, one.reason) },
      ],
      status.work,
    ),
  );
}
