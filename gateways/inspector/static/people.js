// Whose memories are looked at: everybody's, those about nobody, or one contact's.

import { get, path } from "./api.js";
import { choice, field, input } from "./parts.js";

const MOST = 100;
const after = new Map();

/** The position that the last write of this tab reached: a read that follows it sees it. */
export const written = (profile, position) => after.set(profile, position);
export const reached = (profile) => after.get(profile) ?? "";

/** Return who can be chosen; who may not list contacts chooses by name, and only those that he may see answer. */
export async function people({ profile, signal }) {
  try {
    const { contacts, cursor } = await get(path`/v1/profiles/${profile}/contacts`, { limit: MOST }, { signal });
    return { known: contacts.map((one) => one.contact), everybody: true, more: Boolean(cursor) };
  } catch (error) {
    if (error.code !== "refused") throw error;
    return { known: [], everybody: false, more: true };
  }
}

/** What the address says of a contact, as the API takes it. */
export function contactOf(query, found) {
  const given = query.get("who");
  if (given === null) return found.everybody ? "*" : "";
  return given.startsWith("c:") ? given.slice(2) : "";
}

/** A field for a contact, and its value for the address. */
export function whose(query, found) {
  const given = query.get("who") ?? (found.everybody ? "" : "none");
  const named = given.startsWith("c:") ? given.slice(2) : "";
  if (found.more) {
    const control = input({ value: named, placeholder: found.everybody ? "everybody" : "agent-wide" });
    return { node: field("Contact", control), value: () => (control.value ? `c:${control.value}` : "") };
  }
  const known = named && !found.known.includes(named) ? [...found.known, named] : found.known;
  const control = choice([["", "Everybody"], ["none", "Agent-wide only"], ...known.map((one) => [`c:${one}`, one])], given);
  return { node: field("Contact", control), value: () => control.value };
}
