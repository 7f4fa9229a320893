// Scanning without reloads: codes are sent one batch after the other while the field takes the next ones, photos when
// they are chosen, and what the live camera sees where the browser has a BarcodeDetector. Needs app.js.
"use strict";

const SAME_CODE_MS = 4000;
const LOOK_EVERY_MS = 200;
const MAX_CODES_AT_ONCE = 40;
const FORMATS = ["data_matrix", "code_128", "qr_code", "code_39", "ean_13", "ean_8", "upc_a", "upc_e", "itf"];

function scanInPlace(form) {
  const code = form.elements.code;
  const photo = form.elements.photo;
  const state = form.querySelector("[data-scan-state]");
  const waiting = [];
  let isSending = false;

  function tell(words) {
    state.textContent = words;
    state.hidden = !words;
  }

  // The answer is the region; where it is another page (an error, signing in), the list here stays as it is.
  async function send(fields) {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: fields, headers: { "X-Fragment": "scanned" } });
    const html = await answer.text();
    const parsed = new DOMParser().parseFromString(html, "text/html");
    if (parsed.querySelector("input[name=codes]")) return replaceRegion("scanned", html);
    if (answer.status === 401) throw new Error(SIGNED_OUT);
    tell(parsed.body.textContent.trim().slice(0, 300) || "This did not work. Try again.");
  }

  const fieldsWith = (entries) => {
    const fields = new FormData();
    fields.append("codes", form.elements.codes.value);
    for (const [name, value] of entries) fields.append(name, value);
    return fields;
  };

  async function run(entries, words, otherwise) {
    isSending = true;
    tell(words);
    try {
      await send(fieldsWith(entries));
      if (state.textContent === words) tell("");
    } catch (error) {
      if (error.message === SIGNED_OUT) return otherwise();
      tell("The service could not be reached. Nothing is lost: try again.");
      return false;
    } finally {
      isSending = false;
    }
    return true;
  }

  async function sendWaiting() {
    if (isSending || !waiting.length) return;
    const batch = waiting.splice(0, MAX_CODES_AT_ONCE);
    const isSent = await run(batch.map((each) => ["code", each]), "Reading …", () => {
      code.value = batch[0];
      form.submit(); // the page for signing in keeps the list and the code
    });
    if (isSent === false) {
      waiting.unshift(...batch);
      setTimeout(sendWaiting, 3000);
      return;
    }
    sendWaiting();
  }

  function add(text) {
    waiting.push(text);
    sendWaiting();
  }

  async function sendPhoto() {
    const file = photo.files[0];
    if (!file || isSending) return;
    await run([["photo", file]], "Reading the photo …", () => {
      photo.value = "";
      form.submit();
    });
    photo.value = "";
    sendWaiting();
  }

  form.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button && button.value === "csv") return; // a download
    event.preventDefault();
    if (button?.value === "photo") return sendPhoto();
    if (button?.name === "remove" || button?.value === "clear") {
      run([[button.name, button.value]], "", () => form.submit());
      return;
    }
    if (code.value.trim()) add(code.value);
    code.value = "";
    code.focus();
  });
  photo.addEventListener("change", sendPhoto);
  form.querySelector("button[value=photo]").hidden = true; // a photo is sent as soon as it is chosen
  offerCamera(form, add, tell);
}

// <div data-live-camera hidden>: shown where the browser reads symbols itself.
async function offerCamera(form, add, tell) {
  const place = form.querySelector("[data-live-camera]");
  if (!("BarcodeDetector" in window) || !navigator.mediaDevices?.getUserMedia) return;
  const supported = await BarcodeDetector.getSupportedFormats().catch(() => []);
  const formats = FORMATS.filter((each) => supported.includes(each));
  if (!formats.length) return;
  const detector = new BarcodeDetector({ formats });
  const [button, video] = [place.querySelector("button"), place.querySelector("video")];
  const seenAt = new Map();
  let stream = null;
  place.hidden = false;

  function stop() {
    for (const track of stream?.getTracks() ?? []) track.stop();
    stream = null;
    video.srcObject = null;
    video.hidden = true;
    button.textContent = "Scan live with the camera";
  }

  async function look() {
    if (!stream) return;
    const found = await detector.detect(video).catch(() => []);
    const now = performance.now();
    for (const { rawValue } of found) {
      if (!rawValue) continue;
      if (now - (seenAt.get(rawValue) ?? -Infinity) > SAME_CODE_MS) add(rawValue.replaceAll("\x1d", "<GS>"));
      seenAt.set(rawValue, now);
    }
    setTimeout(look, LOOK_EVERY_MS);
  }

  button.addEventListener("click", async () => {
    if (stream) return stop();
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1920 } } });
    } catch {
      tell("The browser does not let this page use the camera. Take a photo instead.");
      return;
    }
    button.textContent = "Stop the camera";
    video.srcObject = stream;
    video.hidden = false;
    await video.play();
    look();
  });
  addEventListener("pagehide", stop);
}

for (const form of document.querySelectorAll("form[data-scan]")) scanInPlace(form);
