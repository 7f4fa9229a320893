// What the pages of the account do beyond plain HTML, by data attributes. All of it works without this script too.
"use strict";

const PAUSE_AFTER_TYPING_MS = 250;
const SIGNED_OUT = "signed out";
const MONTH_MS = 30.4 * 24 * 3600 * 1000;
const ZONE_KEPT = "time zone that is kept";

const say = (words) => {
  document.getElementById("announcement").textContent = words;
};

// A region is an element with an id; the server sends the region alone when it is asked for it by name.
async function fetchRegion(id, address, options = {}) {
  const answer = await fetch(address, { ...options, headers: { "X-Fragment": id, ...options.headers } });
  if (answer.redirected) throw new Error(SIGNED_OUT);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.text();
}

function replaceRegion(id, html, adopt = () => {}) {
  const region = document.getElementById(id);
  const focused = region.contains(document.activeElement) ? document.activeElement.id : "";
  region.innerHTML = html;
  adopt(region);
  if (focused) document.getElementById(focused)?.focus();
  prepare(region);
  const announced = region.querySelector("[data-announce]");
  if (announced) say(announced.dataset.announce);
}

// <form data-live="region">: filters while somebody types.
function filterLive(form) {
  const id = form.dataset.live;
  let timer = 0;
  let current = null;

  function wanted() {
    const fields = new URLSearchParams([...new FormData(form)].filter(([, value]) => value.trim()));
    return form.getAttribute("action") + (fields.size ? `?${fields}` : "");
  }
  let asked = wanted();

  async function show() {
    clearTimeout(timer);
    const address = wanted();
    if (address === asked) return; // a field that was left has no news, and what was marked in the region stays marked
    asked = address;
    current?.abort();
    const controller = (current = new AbortController());
    document.getElementById(id).setAttribute("aria-busy", "true");
    try {
      const html = await fetchRegion(id, address, { signal: controller.signal });
      replaceRegion(id, html);
      history.replaceState(null, "", address);
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address);
      return;
    }
    document.getElementById(id).removeAttribute("aria-busy");
  }

  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(show, PAUSE_AFTER_TYPING_MS);
  });
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    asked = "";
    show();
  });
}

// <form data-send="region">: sends without a reload, and shows the region that the server answers.
function sendInPlace(form) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter;
    const fields = new URLSearchParams(new FormData(form, button));
    button?.setAttribute("aria-disabled", "true");
    try {
      replaceRegion(form.dataset.send, await fetchRegion(form.dataset.send, button?.formAction || form.action, { method: "POST", body: fields }));
    } catch {
      if (button?.name) form.append(hiddenField(button.name, button.value));
      if (button?.hasAttribute("formaction")) form.action = button.formAction;
      form.submit(); // the whole page says what is wrong, or asks to sign in
    }
  });
}

function hiddenField(name, value) {
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = name;
  field.value = value;
  return field;
}

// Asks for a region again as the address has it. What is ticked and typed in it stays.
async function refreshRegion(id) {
  const region = document.getElementById(id);
  const address = location.href;
  if (!region) return;
  const html = await fetchRegion(id, address, { cache: "no-store" });
  if (location.href !== address || region.hasAttribute("aria-busy")) return; // somebody filters: that shows it too
  const typed = [...region.querySelectorAll("input[id]:not([type=hidden]):not([data-select-all])")].map((each) => [each.id, each.checked, each.value]);
  replaceRegion(id, html, () => {
    for (const [inputId, checked, value] of typed) {
      const field = document.getElementById(inputId);
      if (field) Object.assign(field, { checked, value });
    }
  });
}

// <div id="region" data-poll="2">: asked for again every 2 seconds until the server leaves the attribute out; then the
// region that its data-then names is asked for once, and what the first one announces is said.
function poll(region) {
  setTimeout(async () => {
    try {
      const html = await fetchRegion(region.id, location.href, { cache: "no-store" });
      const parsed = new DOMParser().parseFromString(html, "text/html");
      const fresh = parsed.getElementById(region.id);
      if (!fresh) return;
      region.replaceWith(fresh);
      prepare(fresh.parentElement);
      if (fresh.hasAttribute("data-poll")) return;
      if (fresh.dataset.then) await refreshRegion(fresh.dataset.then).catch(() => {}); // a reload shows it
      if (fresh.dataset.announce) say(fresh.dataset.announce);
    } catch (error) {
      if (error.message !== SIGNED_OUT) poll(region);
    }
  }, Number(region.dataset.poll) * 1000);
}

// <input data-select-all="watch">: marks every checkbox of that name in the form; [data-selected-count] tells how many.
// [data-when-chosen] is there, and sticks to the window's edge, while one is marked, or the box "all" (all that match).
function selectAll(box) {
  const form = box.form ?? box.closest("form");
  const boxes = () => [...form.querySelectorAll(`input[type=checkbox][name="${box.dataset.selectAll}"]`)];

  function tell() {
    const chosen = boxes().filter((each) => each.checked).length;
    box.checked = chosen > 0 && chosen === boxes().length;
    box.indeterminate = chosen > 0 && !box.checked;
    const all = form.querySelector("input[name=all]:checked");
    for (const place of form.querySelectorAll("[data-selected-count]")) place.textContent = chosen.toLocaleString("en");
    for (const bar of form.querySelectorAll("[data-when-chosen]")) {
      bar.hidden = !chosen && !all && !bar.querySelector("[role=alert]");
      bar.classList.toggle("sticks", !bar.hidden);
      bar.querySelector("[data-chosen]").textContent = all ? all.dataset.words : `${chosen.toLocaleString("en")} chosen`;
    }
  }

  box.closest("[hidden]")?.removeAttribute("hidden");
  box.addEventListener("change", () => {
    for (const each of boxes()) each.checked = box.checked;
    tell();
  });
  form.addEventListener("change", tell);
  tell();
}

// <button data-copy="element">: copies the text of an element.
function copyOnClick(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      say("Copied.");
      button.classList.add("copied");
    } catch {
      say("The browser does not allow copying. Select the text instead.");
    }
  });
}

// A menu that is open closes on Escape and on a click beside it.
function closeMenu(menu) {
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

// Whether clocks in both time zones show the same, today and in each month of a year from now on.
function showTheSame(zone, other) {
  const clocks = (timeZone) => Array.from({ length: 13 }, (_, n) => new Date(Date.now() + n * MONTH_MS).toLocaleString("en", { timeZone }));
  try {
    return clocks(zone).join() === clocks(other).join();
  } catch {
    return true; // the browser does not know one of them
  }
}

// <section data-other-zone="UTC" hidden>: shown where the browser is in another time zone, unless somebody has said here
// to keep this one. [data-named-zone] are named after that of the browser, which input[data-browser-zone] has.
function offerZone(notice) {
  const zone = notice.dataset.otherZone;
  const browsers = notice.querySelector("input[data-browser-zone]").value;
  const kept = `${zone} in ${browsers}`;
  if (!browsers || showTheSame(zone, browsers) || localStorage.getItem(ZONE_KEPT) === kept) return;
  for (const each of notice.querySelectorAll("[data-named-zone]")) each.textContent = browsers.replaceAll("_", " ");
  notice.hidden = false;
  notice.querySelector("[data-dismiss]").addEventListener("click", () => {
    localStorage.setItem(ZONE_KEPT, kept);
    notice.hidden = true;
    say(`Times stay in ${zone.replaceAll("_", " ")}.`);
  });
}

const BEHAVIOURS = [
  ["form[data-live]", filterLive],
  ["form[data-send]", sendInPlace],
  ["[data-poll]", poll],
  ["input[data-select-all]", selectAll],
  ["button[data-copy]", copyOnClick],
  ["details.more", closeMenu],
  ["[data-other-zone]", offerZone],
];
const prepared = new WeakSet();

function prepare(root) {
  for (const [selector, behave] of BEHAVIOURS) {
    for (const element of root.querySelectorAll(selector)) {
      if (prepared.has(element)) continue;
      prepared.add(element);
      behave(element);
    }
  }
}

prepare(document);
