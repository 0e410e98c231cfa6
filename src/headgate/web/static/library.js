// The library: selecting, keys, the drawer, covers, and rows that change in place.

const PICKED = "[data-pick]:checked";
const CHANGED_AFTER_MS = 400;
const AROUND_PX = 600;
const MAX_ASKED = 100;

function rowOf(element) {
  return element?.closest?.("[data-row]");
}

/** Boxes of selected things. They belong to the bar's form, which knows them without a search through the page. */
function pickedBoxes() {
  return [...document.getElementById("selection").elements].filter((box) => box.matches(PICKED));
}

/** Says how many things are selected, and hides actions that need more of them. */
function countPicked() {
  const bar = document.getElementById("selection");
  if (!bar) return;
  const picked = pickedBoxes().length;
  bar.classList.toggle("is-on", picked > 0);
  document.getElementById("picked").textContent = `${picked} selected`;
  for (const action of bar.querySelectorAll("[data-least]")) action.hidden = picked < Number(action.dataset.least);
}

/** Opens the drawer when something was loaded into it, and closes it by a click outside. */
function openDrawer() {
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    const drawer = document.getElementById("drawer");
    if (detail.target === drawer && !drawer.open) drawer.showModal();
  });
  document.addEventListener("click", (event) => {
    const drawer = document.getElementById("drawer");
    if (!drawer?.open) return;
    if (event.target === drawer || event.target.closest("#drawer [data-close]")) {
      event.preventDefault();
      drawer.close();
    }
  });
}

function press(row, selector) {
  const found = row?.querySelector(selector);
  found?.click();
  return Boolean(found);
}

function setOpen(row, open) {
  const chevron = row?.closest(".row")?.querySelector("[data-chevron]");
  if (!chevron || chevron.checked === open) return;
  chevron.click();
  if (!open) row.closest(".row").querySelector("[data-row]").focus();
}

const libraryKeys = {
  x: (row) => press(row, "[data-pick]"),
  o: (row) => setOpen(row, !row.closest(".row").querySelector("[data-chevron]")?.checked),
  ArrowRight: (row) => setOpen(row, true),
  ArrowLeft: (row) => setOpen(row, false),
  Enter: (row) => press(row, "[data-opens]"),
};

function onLibraryKey(event) {
  const row = rowOf(document.activeElement);
  const act = row?.closest(".chunk") && libraryKeys[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const own = event.target.closest("a, button, summary, input:not([type=checkbox]), select");
  if (own || (event.key === "Enter" && event.target !== row)) return;
  event.preventDefault();
  act(row);
}

/** Whether somebody is typing in a row, or waits for an answer about it. */
function isBusy(row) {
  return row.dataset.busy || row.querySelector(".inline-form");
}

function isNear(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > -AROUND_PX && top < innerHeight + AROUND_PX;
}

/** Rows in sight, or nearly, that nobody works on. Asking a row of a far chunk for its place would lay that out. */
function rowsInSight() {
  return [...document.querySelectorAll(".chunk")]
    .filter(isNear)
    .flatMap((chunk) => [...chunk.querySelectorAll(".row[data-version]")])
    .filter((row) => isNear(row) && !isBusy(row))
    .slice(0, MAX_ASKED);
}

/** Puts a row in the place of an older state of it, as open, selected and focused as that was. */
function replaceRow(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old?.dataset.version || isBusy(old)) return;
  const picked = new Set([...old.querySelectorAll(PICKED)].map((box) => box.value));
  for (const box of fresh.querySelectorAll("[data-pick]")) box.checked = picked.has(box.value);
  const chevron = fresh.querySelector("[data-chevron]");
  if (chevron) chevron.checked = Boolean(old.querySelector("[data-chevron]")?.checked);
  const menu = fresh.querySelector(".row-menu");
  if (menu) menu.open = Boolean(old.querySelector(".row-menu")?.open);
  const focused = old.contains(document.activeElement) && document.activeElement;
  old.replaceWith(fresh);
  htmx.process(fresh);
  if (focused) (document.getElementById(focused.id || rowOf(focused)?.id) ?? fresh.querySelector("[data-row]"))?.focus();
}

let asking;

/** Asks which of the rows in sight have changed; the others stay as they are. */
async function refreshRows() {
  asking = undefined;
  const list = document.getElementById("library");
  const known = rowsInSight().map((row) => `${row.id.slice(4)}.${row.dataset.version}`);
  if (!list || !known.length || document.hidden) return;
  const layout = list.classList.contains("is-grid") ? "grid" : "table";
  const answer = await fetch(`/library/changed?${new URLSearchParams({ known: known.join(","), layout })}`, {
    headers: { "HX-Request": "true" },
  });
  if (!answer.ok) return;
  const holder = document.createElement("template");
  // A table's bodies cannot stand alone in a document, but they can in a template.
  holder.innerHTML = await answer.text();
  for (const row of [...holder.content.children]) replaceRow(row);
  countPicked();
}

function refreshSoon() {
  asking ??= setTimeout(refreshRows, CHANGED_AFTER_MS);
}

/** Covers: a picture that is dropped is uploaded as if it had been chosen. */
function dropCovers() {
  const place = (event) => event.target.closest?.(".cover-drop");
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const cover = place(event);
      if (!cover) return;
      event.preventDefault();
      cover.classList.toggle("over", kind === "dragover");
      if (kind !== "drop" || !event.dataTransfer.files.length) return;
      const input = cover.querySelector("input[type=file]");
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-pick]")) countPicked();
});
document.addEventListener("reset", (event) => {
  if (event.target.id === "selection") setTimeout(countPicked);
});
/** Leaves a row as it was before somebody began to edit it. */
function cancelEdit(row) {
  for (const form of row.querySelectorAll(".inline-form")) form.remove();
  row.dataset.version = "old";
  refreshRows().then(() => document.getElementById(row.id)?.querySelector("[data-row]")?.focus());
}

/** Says what an answer refused, which htmx shows nothing of. */
function tellProblem({ detail }) {
  const answer = new DOMParser().parseFromString(detail.xhr.responseText, "text/html");
  const text = answer.querySelector("h1")?.textContent.trim() || "Something went wrong.";
  const notice = Object.assign(document.createElement("div"), { className: "notice failed" });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "button bare small" });
  close.textContent = "Close";
  close.addEventListener("click", () => notice.remove());
  notice.append(Object.assign(document.createElement("p"), { textContent: text }), close);
  document.getElementById("notices")?.replaceChildren(notice);
}

document.addEventListener("click", (event) => {
  const row = event.target.closest("[data-cancel]")?.closest(".row");
  if (row) cancelEdit(row);
  if (event.target.closest("[data-close-filters]") && document.getElementById("filter-place")) {
    event.preventDefault();
    document.getElementById("filter-place").replaceChildren();
    document.getElementById("open-filters").focus();
  }
});
document.addEventListener("keydown", (event) => {
  const row = event.key === "Escape" && event.target.closest(".inline-form")?.closest(".row");
  if (row) cancelEdit(row);
});
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  const row = detail.target?.closest(".row");
  if (row) row.dataset.busy = "yes";
});
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  const row = detail.target?.closest(".row");
  if (row) delete row.dataset.busy;
});
document.addEventListener("htmx:responseError", tellProblem);
document.addEventListener("keydown", onLibraryKey);
document.addEventListener("headgate:events", ({ detail }) => {
  for (const kind of ["items", "shelf", "inspections", "sends", "refresh"]) detail.addEventListener(kind, refreshSoon);
});
document.addEventListener("htmx:afterSettle", countPicked);
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  const sheet = detail.elt.closest?.("#sheet");
  if (sheet?.open && detail.successful && detail.elt.matches("form")) sheet.close();
});
openDrawer();
dropCovers();
countPicked();
