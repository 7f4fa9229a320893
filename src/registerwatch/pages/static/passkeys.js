// Passkeys: asks the browser for one, and sends its answer with the form that has the button.
"use strict";

const REFUSED = "The browser did not use a passkey. Try again, or use another way.";

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (character) => character.charCodeAt(0));

const textOf = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");

const withBytes = (credentials) => credentials?.map((each) => ({ ...each, id: bytesOf(each.id) }));

// The options come from the server as JSON, where bytes are base64url.
function creationOptions(options) {
  return {
    ...options,
    challenge: bytesOf(options.challenge),
    user: { ...options.user, id: bytesOf(options.user.id) },
    excludeCredentials: withBytes(options.excludeCredentials),
  };
}

function requestOptions(options) {
  return {
    ...options,
    challenge: bytesOf(options.challenge),
    allowCredentials: withBytes(options.allowCredentials),
  };
}

function answerOf(credential) {
  const names = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  const given = names.filter((name) => credential.response[name]);
  const response = Object.fromEntries(given.map((name) => [name, textOf(credential.response[name])]));
  return JSON.stringify({ id: credential.id, rawId: textOf(credential.rawId), type: credential.type, response });
}

// <button data-passkey="create" data-options="{…}" data-address="…">: the answer is sent to data-address.
const create = async (button) =>
  navigator.credentials.create({ publicKey: creationOptions(JSON.parse(button.dataset.options)) });

// <button data-passkey="get" data-options-address="/login/passkey/options">
async function get(button) {
  const answer = await fetch(button.dataset.optionsAddress, { method: "POST" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return navigator.credentials.get({ publicKey: requestOptions(await answer.json()) });
}

// Sends the hidden fields of the button's form with the answer, and nothing that was typed beside.
function send(button, answer) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = button.dataset.address;
  for (const field of button.form.querySelectorAll("input[type=hidden]")) form.append(field.cloneNode());
  const credential = document.createElement("input");
  Object.assign(credential, { type: "hidden", name: "credential", value: answer });
  form.append(credential);
  document.body.append(form);
  form.submit();
}

function askOnClick(button) {
  const ask = button.dataset.passkey === "create" ? create : get;
  const problem = button.form.querySelector("[data-passkey-problem]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    problem.textContent = "";
    try {
      send(button, answerOf(await ask(button)));
    } catch {
      problem.textContent = REFUSED;
    }
  });
}

if (window.PublicKeyCredential) {
  document.querySelectorAll("button[data-passkey]").forEach(askOnClick);
  document.querySelectorAll("[data-without-passkeys]").forEach((element) => element.remove());
}
