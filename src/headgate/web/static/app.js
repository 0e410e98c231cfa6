// What HTML cannot do by itself; every page works without it.

/** Keeps "3 min ago" true. The server says what time it was for it when it wrote the page. */
class RelativeTime extends HTMLElement {
  /** All that the page shows; one timer serves thousands of them. */
  static shown = new Set();

  connectedCallback() {
    this.time = this.querySelector("time");
    this.ageAtArrival = new Date(this.getAttribute("now")) - new Date(this.time?.dateTime);
    this.arrived = performance.now();
    RelativeTime.shown.add(this);
  }

  disconnectedCallback() {
    RelativeTime.shown.delete(this);
  }

  update() {
    if (!this.time) return;
    const age = this.ageAtArrival + performance.now() - this.arrived;
    const amount = RelativeTime.amount(Math.abs(age) / 1000);
    const text = amount ? (age > 0 ? `${amount} ago` : `in ${amount}`) : age >= 0 ? "just now" : "now";
    if (this.time.textContent !== text) this.time.textContent = text;
  }

  static amount(seconds) {
    const [s, days] = [Math.floor(seconds), Math.floor(seconds / 86_400)];
    if (s < 10) return "";
    if (s < 60) return `${s}\u00a0s`;
    if (s < 3600) return `${Math.floor(s / 60)}\u00a0min`;
    if (s < 86_400) return `${Math.floor(s / 3600)}\u00a0h`;
    if (days < 60) return `${days}\u00a0d`;
    return days < 730 ? `${Math.floor(days / 30)}\u00a0months` : `${Math.floor(days / 365)}\u00a0years`;
  }
}

/** Shows whether the page updates by itself at the moment. */
class LiveState extends HTMLElement {
  connectedCallback() {
    document.addEventListener("htmx:sseOpen", () => this.show("live", "Live"));
    document.addEventListener("htmx:sseError", () => this.show("away", "Reconnecting …"));
  }

  show(state, text) {
    this.setAttribute("state", state);
    this.textContent = text;
  }
}

/** Copies the text of the element that `for` names. */
class CopyButton extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(this.getAttribute("for")).textContent);
      button.textContent = "Copied";
    });
  }
}

/** What is swapped in hears nothing until htmx has settled it: an event that comes meanwhile is told a little later. */
const SETTLED_MS = 150;
let swappedAt = -Infinity;
document.addEventListener("htmx:beforeSwap", () => (swappedAt = performance.now()));

function tellWhenSettled(tell) {
  if (performance.now() - swappedAt < SETTLED_MS) setTimeout(tell, SETTLED_MS);
  else tell();
}

/** A page that is being left loses its stream, which is no error; one that stays after all hears of errors again. */
const LEAVING_MS = 5000;
let isLeaving = false;
addEventListener("beforeunload", () => {
  isLeaving = true;
  setTimeout(() => (isLeaving = false), LEAVING_MS);
});

/**
 * An EventSource of pages that are looked at. Browsers allow six connections to a server; hidden tabs
 * would use them up with streams that nobody sees. A page that comes back connects with the mark that it
 * was rendered with, and the server tells it to refresh if anything has happened since.
 */
class SeenEventSource extends EventTarget {
  /** Whether this page listens also while it is hidden; one page of a browser may, for its notices. */
  static keepsWatch = false;

  constructor(url) {
    super();
    this.url = url;
    this.heard = new Set();
    this.ended = false;
    document.addEventListener("visibilitychange", () => this.follow());
    document.dispatchEvent(new CustomEvent("headgate:events", { detail: this }));
    if (!document.hidden) this.open();
  }

  get readyState() {
    if (this.ended) return EventSource.CLOSED;
    return this.source ? this.source.readyState : EventSource.CONNECTING;
  }

  follow() {
    if (this.ended) return;
    if (document.hidden && !SeenEventSource.keepsWatch) {
      this.source?.close();
      this.source = undefined;
    } else if (!this.source && !document.hidden) {
      this.open();
    }
  }

  open() {
    this.source = new EventSource(this.url);
    this.source.onopen = (event) => this.onopen?.(event);
    this.source.onerror = (event) => {
      if (isLeaving) return;
      if (this.source.readyState === EventSource.CLOSED) this.ended = true;
      this.onerror?.(event);
    };
    for (const kind of this.heard) this.pass(kind);
  }

  pass(kind) {
    this.source?.addEventListener(kind, ({ data, lastEventId }) =>
      tellWhenSettled(() => this.dispatchEvent(new MessageEvent(kind, { data, lastEventId }))),
    );
  }

  addEventListener(kind, listener, options) {
    super.addEventListener(kind, listener, options);
    if (this.heard.has(kind)) return;
    this.heard.add(kind);
    this.pass(kind);
  }

  close() {
    this.ended = true;
    this.source?.close();
  }
}

/** Moves to the next row that can be seen; members of closed groups are passed over. */
function moveRow(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const at = rows.indexOf(document.activeElement?.closest("[data-row]"));
  const ahead = step > 0 ? rows.slice(at + 1) : rows.slice(0, at < 0 ? undefined : at).reverse();
  ahead.find((row) => row.checkVisibility())?.focus();
}

const keys = {
  "/": () => document.querySelector("[data-search]")?.focus(),
  "?": () => document.getElementById("keys")?.showModal(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
};

function onKey(event) {
  const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

customElements.define("relative-time", RelativeTime);
setInterval(() => RelativeTime.shown.forEach((time) => time.update()), 10_000);
customElements.define("live-state", LiveState);
customElements.define("copy-button", CopyButton);
htmx.createEventSource = (url) => new SeenEventSource(url);
document.addEventListener("keydown", onKey);
document.addEventListener("htmx:sseClose", (event) => {
  if (event.detail.type === "message") location.assign("/login");
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.getElementById("show-keys")?.addEventListener("click", () => keys["?"]());
// The demo's entry link does its work once; it need not stay in the address bar.
if (location.pathname.startsWith("/enter/")) history.replaceState(null, "", "/");
