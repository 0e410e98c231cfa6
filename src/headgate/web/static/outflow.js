// Reminders and runs: notices, questions as dialogs, the browser's time zone, files that are too large.

const WANTED = "headgate.notices";
const MOST_NOTICES = 3;
const SENT_MS = 5000;

/** Whether this browser shows notices: the person switched it on here, and the browser allows it. */
function showsNotices() {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem(WANTED) === "on";
}

/** One page of a browser stays awake while it is hidden, so that there is one to show a notice. */
function keepWatch() {
  if (!showsNotices() || SeenEventSource.keepsWatch) return;
  navigator.locks?.request("headgate.notices", () => {
    SeenEventSource.keepsWatch = true;
    return new Promise(() => {});
  });
}

function tellFired({ data }) {
  const fired = JSON.parse(data);
  if (document.hidden && showsNotices()) notify(fired);
  showNotice(fired);
}

function notify({ run, text }) {
  const notice = new Notification("Headgate", { body: text, tag: run });
  notice.onclick = () => {
    window.focus();
    location.assign(`/runs/${run}`);
  };
}

function showNotice({ run, status, text }) {
  const notices = document.getElementById("notices");
  if (!notices) return;
  const notice = document.createElement("div");
  notice.className = `notice ${status}`;
  const link = Object.assign(document.createElement("a"), { href: `/runs/${run}`, textContent: "See the run" });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "button bare small" });
  close.textContent = "Close";
  close.setAttribute("aria-label", `Close the notice: ${text}`);
  close.addEventListener("click", () => notice.remove());
  const said = Object.assign(document.createElement("p"), { textContent: text });
  notice.append(said, link, close);
  notices.append(notice);
  while (notices.children.length > MOST_NOTICES) notices.firstElementChild.remove();
}

/** A switch for the notices of this browser; it asks for leave only when it is clicked. */
class NoticeSwitch extends HTMLElement {
  connectedCallback() {
    if (!("Notification" in window) || Notification.permission === "denied") return;
    const label = this.querySelector("label");
    this.querySelector("p").hidden = true;
    label.hidden = false;
    const box = label.querySelector("input");
    box.checked = showsNotices();
    box.addEventListener("change", async () => {
      const granted = box.checked && (await Notification.requestPermission()) === "granted";
      localStorage.setItem(WANTED, granted ? "on" : "off");
      box.checked = granted;
      keepWatch();
    });
  }
}

/** Fills in the time zone that the browser is in, where nobody has said another one. */
class BrowserZone extends HTMLElement {
  connectedCallback() {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const input = this.querySelector("input");
    if (!this.hasAttribute("guess") || !zone || input.value === zone) return;
    input.value = zone;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Questions open as dialogs; without scripts they are pages. */
function openQuestions() {
  const sheet = document.getElementById("sheet");
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === sheet && !sheet.open) sheet.showModal();
  });
  sheet?.addEventListener("click", (event) => {
    if (!event.target.closest("[data-close]") && event.target !== sheet) return;
    event.preventDefault();
    sheet.close();
  });
}

/** Says at once that a file is too large, before it is sent in vain. */
function weighFiles(event) {
  const input = event.target;
  const largest = Number(input.dataset?.largest);
  if (!largest) return;
  const file = input.files[0];
  const heavy = file && file.size > largest;
  input.setCustomValidity(heavy ? `${file.name} is too large: at most ${largest / 1e6} MB can be sent.` : "");
  if (!heavy) return;
  event.stopImmediatePropagation();
  input.value = "";
  input.reportValidity();
}

/** A form is sent once, however often its button is pressed; after a while it may be meant again. */
function sendOnce(event) {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  setTimeout(() => delete form.dataset.sent, SENT_MS);
}

customElements.define("notice-switch", NoticeSwitch);
document.addEventListener("headgate:events", ({ detail }) => detail.addEventListener("reminder.fired", tellFired));
document.addEventListener("submit", sendOnce);
document.addEventListener("change", weighFiles, { capture: true });
document.addEventListener("DOMContentLoaded", () => customElements.define("browser-zone", BrowserZone));
openQuestions();
keepWatch();
