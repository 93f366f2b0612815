// Drop zone: streams each file to the upload route, shows bytes and counts, can cancel, reports what came of it.
const instances = new WeakMap()
const PARALLEL = 2
const POLL_MS = 400
const HEAD_BYTES = 4096
const SILENT_POLLS = 25
const GONE = { kind: "Gone", what: "The file is no longer at hand", where: "", remedy: "Drop it again." }

const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, "0")).join("")

const mega = bytes =>
  bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3)).toLocaleString("en")} kB` : `${(bytes / 1e6).toFixed(1)} MB`

export default function (component) {
  const { data, parentElement, setStateValue, setTriggerValue } = component
  let zone = instances.get(parentElement)
  if (!zone) {
    zone = new Zone(parentElement)
    instances.set(parentElement, zone)
  }
  zone.update(data, setStateValue, setTriggerValue)
  return () => zone.leave()
}

class Zone {
  constructor(root) {
    this.items = []
    this.results = []
    this.running = 0
    this.waiting = false
    this.retried = new Set()
    this.input = root.querySelector("input")
    this.list = root.querySelector(".list")
    this.hint = root.querySelector(".hint")
    const drop = root.querySelector(".zone")
    this.input.onchange = () => {
      this.add(this.input.files)
      this.input.value = ""
    }
    drop.ondragover = event => {
      event.preventDefault()
      drop.classList.add("over")
    }
    drop.ondragleave = () => drop.classList.remove("over")
    drop.ondrop = event => {
      event.preventDefault()
      drop.classList.remove("over")
      this.add(event.dataTransfer.files)
    }
    this.guard = event => {
      if (this.running > 0) event.preventDefault()
    }
    window.addEventListener("beforeunload", this.guard)
  }

  update(data, setStateValue, setTriggerValue) {
    const renewed = this.data && this.data.token !== data.token
    this.data = data
    this.setStateValue = setStateValue
    this.setTriggerValue = setTriggerValue
    this.hint.textContent = data.hint
    if (renewed) this.waiting = false
    for (const again of data.retry || []) this.retry(again)
    this.pump()
  }

  leave() {
    window.removeEventListener("beforeunload", this.guard)
  }

  add(files) {
    for (const file of files) this.enqueue(file, {}, null)
    this.pump()
  }

  retry({ nonce, id, choices }) {
    const item = this.items.find(i => i.id === id)
    if (this.retried.has(nonce)) return
    this.retried.add(nonce)
    if (item) this.enqueue(item.file, choices, nonce)
    else this.report({ id: nonce, nonce, name: "A file", ok: false, error: GONE })
  }

  enqueue(file, choices, nonce) {
    const item = { id: randomId(), nonce, file, choices, state: "queued" }
    const row = document.createElement("div")
    row.className = "row"
    row.innerHTML =
      '<div class="top"><span class="name"></span><span class="what" aria-live="polite"></span>' +
      '<button type="button" class="cancel">Cancel</button></div><progress max="1" value="0"></progress>'
    row.querySelector(".name").textContent = file.name
    row.querySelector("progress").setAttribute("aria-label", `Progress of ${file.name}`)
    row.querySelector("button").onclick = () => this.cancel(item)
    item.row = row
    this.items.push(item)
    this.list.append(row)
    this.say(item, `waiting · ${mega(file.size)}`, 0)
  }

  pump() {
    while (!this.waiting && this.running < PARALLEL) {
      const next = this.items.find(i => i.state === "queued")
      if (!next) return
      this.send(next)
    }
  }

  say(item, text, value) {
    item.row.querySelector(".what").textContent = text
    const bar = item.row.querySelector("progress")
    if (value === null) bar.removeAttribute("value")
    else bar.value = value
  }

  send(item) {
    item.state = "sending"
    this.running += 1
    const query = new URLSearchParams({
      token: this.data.token,
      name: item.file.name,
      job: item.id,
      choices: JSON.stringify({ ...this.data.choices, ...item.choices }),
    })
    const request = (item.request = new XMLHttpRequest())
    request.open("POST", `${this.data.url}?${query}`)
    request.responseType = "json"
    request.upload.onprogress = event => {
      this.say(item, `sending ${mega(event.loaded)} of ${mega(event.total)}`, event.loaded / Math.max(1, event.total))
    }
    request.upload.onload = () => this.watch(item)
    request.onload = () => this.finish(item, request.status, request.response)
    request.onerror = () => this.finish(item, 0, null)
    request.onabort = () => this.finish(item, -1, null)
    request.send(item.file)
  }

  watch(item) {
    if (item.state !== "sending") return
    item.state = "reading"
    this.say(item, "reading", null)
    const ask = async () => {
      if (item.state !== "reading") return
      const answer = await fetch(`${this.data.url}/progress?job=${item.id}`).catch(() => null)
      item.silent = answer ? 0 : (item.silent || 0) + 1
      if (item.silent >= SILENT_POLLS) {
        item.unreachable = true
        item.request.abort()
        return
      }
      const job = answer && answer.ok ? await answer.json().catch(() => null) : null
      if (job && item.state === "reading") {
        const total = job.total ? ` of ${job.total.toLocaleString("en")}` : ""
        const count = job.done ? ` ${job.done.toLocaleString("en")}${total}` : ""
        this.say(item, `${job.stage}${count}`, job.total ? job.done / job.total : null)
      }
      item.timer = setTimeout(ask, POLL_MS)
    }
    item.timer = setTimeout(ask, POLL_MS)
  }

  cancel(item) {
    if (item.state === "queued") {
      item.state = "over"
      item.row.remove()
      return
    }
    if (item.state === "reading") {
      this.say(item, "cancelling", null)
      fetch(`${this.data.url}/cancel?job=${item.id}`, { method: "POST" })
      return
    }
    if (item.request) item.request.abort()
  }

  async finish(item, status, body) {
    clearTimeout(item.timer)
    this.running -= 1
    if (status === 401 && !item.renewed) {
      item.renewed = true
      item.state = "queued"
      this.waiting = true
      this.say(item, "waiting", 0)
      this.setTriggerValue("renew", randomId())
      return
    }
    const read = item.state === "reading"
    item.state = "over"
    if (status === 0 || item.unreachable) {
      this.lose(item, read)
      this.pump()
      return
    }
    item.row.remove()
    const error = status === 200 ? null : this.refusal(status, body)
    const result = { id: item.id, nonce: item.nonce, name: item.file.name, size: item.file.size, ok: status === 200, error }
    if (status === 200) result.receipt = body
    else if (status > 0) result.head = await item.file.slice(0, HEAD_BYTES).text().catch(() => "")
    this.report(result)
    this.pump()
  }

  // The row stays, because a card would need the connection that is gone. What was sent whole may have arrived.
  lose(item, read) {
    const name = item.file.name
    const text = read
      ? `connection lost while ${name} was read: look under Uploads, or drop it again (it is stored once)`
      : `connection lost: ${name} was not stored, drop it again`
    item.row.classList.add("lost")
    item.row.querySelector(".what").textContent = text
    item.row.querySelector("progress").remove()
    const button = item.row.querySelector("button")
    button.textContent = "Close"
    button.onclick = () => item.row.remove()
  }

  refusal(status, body) {
    if (body && body.error) return body.error
    if (status === -1) return { kind: "Cancelled", what: "Cancelled; nothing was stored", where: "", remedy: "" }
    return {
      kind: "Unreachable",
      what: `The server answered ${status}`,
      where: "",
      remedy: "Send the file again.",
    }
  }

  report(result) {
    this.results = [...this.results, result].slice(-100)
    this.setStateValue("results", this.results)
  }
}
