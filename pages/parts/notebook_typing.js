// Streamlit sends a text field when it is left, or on Ctrl+Enter: this presses those keys after a pause.
const PAUSE_MS = 1200
const TEXT = '[class*="st-key-nb_cell_text_"] textarea'
const ANY = '[class*="st-key-nb_cell_"] textarea'
const timers = new WeakMap()
const unsent = new Set()

const send = field => {
  unsent.delete(field)
  if (field.isConnected) {
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", code: "Enter", ctrlKey: true, metaKey: true, bubbles: true }))
  }
}

const typed = event => {
  const field = event.target
  if (!(field instanceof HTMLTextAreaElement) || !field.matches(ANY)) return
  unsent.add(field)
  clearTimeout(timers.get(field))
  if (field.matches(TEXT)) timers.set(field, setTimeout(() => send(field), PAUSE_MS))
}

const left = () => [...unsent].forEach(send)

// Once a window: on other pages nothing matches.
document.addEventListener("input", typed, true)
window.addEventListener("beforeunload", left)

export default function () {}
