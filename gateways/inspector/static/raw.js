// Lines of an export as the service wrote them: read and written again, a number could come out as another text.

/** Return the texts of the elements of the array `lines`, the first field of a JSON object. */
export function elements(json) {
  const found = [];
  let at = json.indexOf("[") + 1;
  while (json[at] === "{") {
    const end = ended(json, at);
    found.push(json.slice(at, end));
    at = json[end] === "," ? end + 1 : end;
  }
  return found;
}

/** Return where the object that begins at a place ends. */
function ended(json, at) {
  let depth = 0;
  let quoted = false;
  for (let place = at; place < json.length; place += 1) {
    const char = json[place];
    if (quoted) {
      if (char === "\\") place += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === "{") depth += 1;
    else if (char === "}" && (depth -= 1) === 0) return place + 1;
  }
  return json.length;
}
