// What the pages do beyond plain HTML. All of it works without this script too, by sending forms and reloading.
"use strict";

const PAUSE_AFTER_TYPING = 250;
const PAUSES_WHILE_READING = [1500, 3000, 6000, 12000];
const UNREACHABLE = "The service cannot be reached. Check the connection and try again.";

const NARROW = matchMedia("(max-width: 44rem)");

const announcement = document.getElementById("announcement");
const search = document.querySelector("form#search");
const showPassword = document.querySelector("button#show");
const content = document.getElementById("content");
const addressInPrint = document.querySelector("[data-address]");

function searchAsOneTypes(form, results) {
  let timer = 0;
  let request = null;
  let shown = addressOf(form);

  async function show() {
    clearTimeout(timer);
    const address = addressOf(form);
    if (address === shown) return;
    request?.abort();
    const current = (request = new AbortController());
    results.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { headers: { "X-Fragment": "results" }, signal: current.signal });
      const html = await answer.text();
      if (current !== request) return;
      results.innerHTML = html;
      if (answer.ok) {
        shown = address;
        history.replaceState(null, "", address);
        addressInPrint.textContent = location.href;
      }
      foldFacets();
      tell(results.firstElementChild);
    } catch (error) {
      if (error.name === "AbortError") return;
      results.textContent = announcement.textContent = UNREACHABLE;
      shown = null;
    }
    results.removeAttribute("aria-busy");
  }

  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(show, PAUSE_AFTER_TYPING);
  });
  form.addEventListener("change", show);
  form.addEventListener("compositionend", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
}

function addressOf(form) {
  const told = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value.trim()) told.append(name, value.trim());
  }
  const query = told.toString();
  return form.getAttribute("action") + (query && `?${query}`);
}

// Beside the results where there is room; else folded above them.
function foldFacets() {
  if (NARROW.matches) document.querySelector("details.facets")?.removeAttribute("open");
}

function tell(section) {
  if (section?.dataset.title) document.title = section.dataset.title;
  announcement.textContent = section?.dataset.announce ?? "";
}

// A record that was read in part is read in full behind the page: show it when it is there, unless it is in use.
async function showWhenReadInFull() {
  for (const pause of PAUSES_WHILE_READING) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("content");
    if (fresh.querySelector("[data-reading]")) continue;
    if (content.contains(document.activeElement) || !getSelection().isCollapsed) return;
    content.replaceChildren(...fresh.childNodes);
    window.prepare?.(content); // of the script of the account, where the page has it
    announcement.textContent = "The whole record is shown now.";
    return;
  }
}

// A password is shown on demand, and hidden again before it is sent, so that no browser keeps it as a plain text.
function showOnDemand(button, field) {
  function show(visible) {
    field.type = visible ? "text" : "password";
    button.textContent = visible ? "Hide" : "Show";
    button.setAttribute("aria-label", `${button.textContent} the password`);
  }

  button.addEventListener("click", (event) => {
    event.preventDefault();
    show(field.type === "password");
    announcement.textContent = field.type === "password" ? "The password is hidden." : "The password is shown.";
  });
  field.form.addEventListener("submit", () => show(false));
}

// <input type="hidden" data-browser-zone>: the time zone of this browser, such as Europe/Berlin.
function nameBrowserZone(field) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

for (const field of document.querySelectorAll("input[data-browser-zone]")) nameBrowserZone(field);
if (search) searchAsOneTypes(search, document.getElementById("results"));
foldFacets();
if (content.querySelector("[data-reading]")) showWhenReadInFull().catch(() => {});
if (showPassword) showOnDemand(showPassword, document.getElementById("password"));
