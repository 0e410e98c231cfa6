// The library's list: chunks of rows that load as they come near, and a place in it to come back to.

const NEAR_PX = 1500;
const RETRY_AFTER_MS = 3000;
const SAVE_AFTER_MS = 150;
const SETTLED_AFTER_MS = 2000;

/** What was open and selected when this page was left. */
const left = history.state?.library ?? { open: [], picked: [] };
/** Rows that are open, or were when the page was left and are in a chunk that is not loaded yet. */
const openRows = new Set(left.open);
/** The row to return to, until it has been where it was for a moment: the list may be too short, or still grow above. */
let wanted = left.row && left;
let settling;

function chunks() {
  return [...document.querySelectorAll(".chunk")];
}

/** Rows of one chunk, without the members of groups. */
function rowsOf(chunk) {
  return [...chunk.querySelectorAll(".row")];
}

function isBelowTop(element) {
  return element.getBoundingClientRect().bottom > 0;
}

function returnToRow() {
  const row = wanted && document.getElementById(wanted.row);
  if (!row) return;
  scrollBy({ top: row.getBoundingClientRect().top - wanted.top, behavior: "instant" });
  if (Math.abs(row.getBoundingClientRect().top - wanted.top) < 1) {
    settling ??= setTimeout(() => (wanted = undefined), SETTLED_AFTER_MS);
  }
}

/** Opens and selects again what was so in a chunk before. */
function restoreRows(chunk) {
  for (const chevron of chunk.querySelectorAll("[data-chevron]")) {
    chevron.checked ||= openRows.has(chevron.closest(".row").id);
  }
  const kept = new Map([...document.querySelectorAll("#selection [data-pick]")].map((box) => [box.value, box]));
  for (const box of kept.size ? chunk.querySelectorAll("[data-pick]") : []) {
    if (!kept.has(box.value)) continue;
    box.checked = kept.get(box.value).checked;
    kept.get(box.value).remove();
  }
}

/** Keeps things selected that are in no chunk yet: hidden boxes in the bar stand for them. */
function keepPicked(ids) {
  for (const value of ids) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "pick", value, hidden: true });
    box.dataset.pick = "";
    box.checked = true;
    document.getElementById("selection")?.append(box);
  }
}

/** Puts a page of the list in the place of the link that led to it. A row that moved here meanwhile stays where it was. */
function insertChunk(place, page) {
  const chunk = page.querySelector(".chunk");
  for (const row of rowsOf(chunk)) if (document.getElementById(row.id)) row.remove();
  const isOlder = place.matches(".older");
  const further = [...page.querySelectorAll(isOlder ? ".older" : ".earlier")];
  const start = isOlder || further.length ? [] : [...page.querySelectorAll("#new")];
  const below = document.querySelector(".chunk");
  const top = below.getBoundingClientRect().top;
  if (isOlder) place.before(chunk);
  else below.before(chunk);
  place.replaceWith(...further, ...start);
  restoreRows(chunk);
  scrollBy({ top: below.getBoundingClientRect().top - top, behavior: "instant" });
  for (const fresh of [chunk, ...start]) htmx.process(fresh);
  countPicked();
  returnToRow();
  followList();
}

/** Links whose page is on its way. */
const loading = new WeakSet();

async function loadChunk(place) {
  loading.add(place);
  near.unobserve(place);
  try {
    const answer = await fetch(place.querySelector("[data-more]").href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!place.isConnected) return;
    if (page.querySelector(".chunk")) insertChunk(place, page);
    else if (answer.ok && !answer.redirected) place.remove();
  } catch {
    setTimeout(() => {
      loading.delete(place);
      near.observe(place);
    }, RETRY_AFTER_MS);
  }
}

const near = new IntersectionObserver(
  (seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) loadChunk(target);
  },
  { rootMargin: `${NEAR_PX}px 0px` },
);

function followList() {
  for (const { parentElement: place } of document.querySelectorAll("#library > p > [data-more]")) {
    if (!loading.has(place)) near.observe(place);
  }
}

let here = chunks()[0];
let saving;

/** Writes the address of what is in sight, so that coming back, a reload and a copied link lead here. */
function savePlace() {
  clearTimeout(saving);
  saving = undefined;
  if (wanted) return;
  const chunk = chunks().find(isBelowTop);
  const row = chunk && rowsOf(chunk).find(isBelowTop);
  if (!row) return;
  const library = {
    row: row.id,
    top: row.getBoundingClientRect().top,
    focus: rowOf(document.activeElement)?.id,
    open: [...openRows],
    picked: pickedBoxes().map((box) => box.value),
  };
  const address = chunk === here ? undefined : chunk.dataset.at;
  here = chunk;
  history.replaceState({ ...history.state, library }, "", address);
  if (address) document.querySelector("#selection [name=back]").value = address;
}

function noteOpen({ target }) {
  if (!target.matches("[data-chevron]")) return;
  const { id } = target.closest(".row");
  if (target.checked) openRows.add(id);
  else openRows.delete(id);
}

function restorePlace() {
  const picked = new Set(left.picked);
  for (const box of document.querySelectorAll(".chunk [data-pick]")) {
    box.checked = picked.delete(box.value);
  }
  keepPicked(picked);
  for (const chunk of chunks()) restoreRows(chunk);
  returnToRow();
  // The browser knows how high a chunk is when it has laid it out.
  if (wanted) new ResizeObserver(returnToRow).observe(document.getElementById("library"));
  document.getElementById(left.focus)?.focus({ preventScroll: true });
  countPicked();
}

if (document.getElementById("library")) {
  history.scrollRestoration = "manual";
  restorePlace();
  followList();
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) {
    addEventListener(kind, () => (wanted = undefined), { capture: true, passive: true });
  }
  addEventListener("scroll", () => (saving ??= setTimeout(savePlace, SAVE_AFTER_MS)));
  addEventListener("click", savePlace, { capture: true });
  document.addEventListener("change", noteOpen);
  document.addEventListener("change", savePlace);
  document.addEventListener("htmx:afterSettle", followList);
}
