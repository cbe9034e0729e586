"use strict";

// The terminal itself is textual.js. This file fits it to the screen, connects it, and says why it ended.

const WANTED_COLUMNS = 64; // below 60, the app drops columns of its tables
const USUAL_FONT = 16;
const SMALLEST_FONT = 8;
const ADVANCE = 0.6; // width of a character of Roboto Mono, in font sizes
const LOST = "The connection to quizapp serve was lost. What you typed is saved.";
const REFUSED = "quizapp serve refuses this page. Open the address that its terminal shows.";
const ABNORMAL_CLOSURE = 1006; // no closing frame: the server is gone, or the device slept

let opened = false;
let lost = false;

function fontSize() {
  const wanted = Number(new URLSearchParams(location.search).get("fontsize"));
  const fitting = Math.floor(innerWidth / WANTED_COLUMNS / ADVANCE);
  return Math.max(SMALLEST_FONT, Math.min(wanted || USUAL_FONT, wanted ? 64 : fitting));
}

function socketAddress() {
  const scheme = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  return new URL(`ws/${scheme}`, location.href.replace(/^http/, "ws").replace(/[?#].*/, "")).href;
}

function focusTerminal() {
  document.querySelector(".xterm-helper-textarea")?.focus();
}

// textual.js shows that its socket closed, but not why. The reason is read from the socket that it makes.
const NativeSocket = window.WebSocket;
window.WebSocket = class extends NativeSocket {
  constructor(...args) {
    super(...args);
    this.addEventListener("open", () => {
      opened = true;
      focusTerminal();
    });
    this.addEventListener("close", (event) => {
      lost = opened && event.code === ABNORMAL_CLOSURE;
      document.getElementById("reason").textContent = event.reason || (opened ? LOST : REFUSED);
      document.getElementById("again").focus();
    });
  }
};

const terminal = document.getElementById("terminal");
terminal.dataset.fontSize = String(fontSize());
terminal.dataset.sessionWebsocketUrl = socketAddress();
document.getElementById("again").addEventListener("click", () => location.reload());
// A phone drops the connection while it sleeps. When its owner looks at it again, the page comes back.
document.addEventListener("visibilitychange", () => {
  if (lost && document.visibilityState === "visible") location.reload();
});

// The terminal measures its font when it starts, so the font has to be there first.
const start = window.onload;
window.onload = null;
Promise.all([document.fonts.load("16px 'Roboto Mono'"), document.fonts.load("bold 16px 'Roboto Mono'")])
  .catch(() => {})
  .then(() => start());
