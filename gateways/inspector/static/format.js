// Values as people read them.

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const MINUTE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const NUMBER = new Intl.NumberFormat();
const UNITS = ["B", "kB", "MB", "GB", "TB"];

export const day = (text) => (text ? DAY.format(new Date(text)) : "");
export const time = (text) => (text ? MINUTE.format(new Date(text)) : "");
export const moment = (text) => (text ? FULL.format(new Date(text)) : "");
export const count = (value) => NUMBER.format(value ?? 0);

/** `1 memory`, `2 memories`. */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function size(bytes) {
  let value = bytes ?? 0;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export function seconds(value) {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 90) return `${Math.round(value)} s`;
  return value < 5400 ? `${Math.round(value / 60)} min` : `${Math.round(value / 3600)} h`;
}

/** A number with as many digits as say something. */
export const score = (value) => (value ?? 0).toFixed(3);
export const percent = (value) => `${Math.round(value * 100)} %`;

/** The sequence of a position, which is what tells positions of one log apart. */
export const sequence = (position) => Number(position?.split(":").at(-1) ?? 0);
export const at = (position, number) => `${position.slice(0, position.lastIndexOf(":"))}:${number}`;

export function short(id) {
  const [name, version] = id.split("@");
  return version ? `${name.slice(0, 8)}…@${version}` : `${name.slice(0, 8)}…`;
}

/** What a local date and time of a form is in UTC, as the service takes it. */
export const utc = (local) => (local ? new Date(local).toISOString() : "");
