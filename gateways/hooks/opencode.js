// .opencode/plugin/umbriel.js (or ~/.config/opencode/plugin/umbriel.js for every project)
import { spawn } from "node:child_process"

const hook = (moment, input) =>
  new Promise((resolve) => {
    const child = spawn("umbriel", ["hook", moment], { stdio: ["pipe", "pipe", "ignore"] })
    let shown = ""
    child.stdout.on("data", (data) => (shown += data))
    child.on("error", () => resolve(""))
    child.on("close", () => resolve(shown.trim()))
    child.stdin.end(JSON.stringify(input))
  })

const textOf = (parts) =>
  parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")

export const Umbriel = async ({ client, directory }) => {
  const started = new Set()
  const keep = async (moment, session_id) => {
    const { data } = await client.session.messages({ path: { id: session_id } })
    const messages = (data ?? [])
      .map(({ info, parts }) => ({
        id: info.id,
        role: info.role,
        at: new Date(info.time.created).toISOString(),
        content: textOf(parts),
      }))
      .filter((message) => message.content.trim())
    await hook(moment, { session_id, cwd: directory, messages })
  }
  return {
    "chat.message": async (input, output) => {
      const session_id = input.sessionID
      const shown = []
      if (!started.has(session_id)) {
        started.add(session_id)
        shown.push(await hook("session-start", { session_id, cwd: directory, source: "startup" }))
      }
      shown.push(await hook("prompt", { session_id, cwd: directory, prompt: textOf(output.parts) }))
      const text = shown.filter(Boolean).join("\n")
      if (!text) return
      const id = "prt_" + crypto.randomUUID().replaceAll("-", "")
      const part = { id, sessionID: session_id, messageID: output.message.id, type: "text" }
      output.parts.push({ ...part, synthetic: true, text })
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await keep("stop", event.properties.sessionID)
    },
    "experimental.session.compacting": async (input) => keep("pre-compact", input.sessionID),
  }
}
