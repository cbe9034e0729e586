"use strict";

// The terminal itself is textual.js. This file fits it to the screen, connects it, and says why it ended.

const WANTED_COLUMNS = 64; // below 60, the app drops columns of its tables
const USUAL_FONT = 16;
const SMALLEST_FONT = 8;
const ADVANCE = 0.6; // width of a character of Roboto Mono, in font sizes
const TAP_PIXELS = 10; // a finger that moves further drags
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
  const keyboard = /Mac|iP(hone|ad|od)/.test(navigator.platform) ? "apple" : "other";
  return new URL(`ws/${scheme}/${keyboard}`, location.href.replace(/^http/, "ws").replace(/[?#].*/, "")).href;
}

function focusTerminal() {
  document.querySelector(".xterm-helper-textarea")?.focus();
}

// textual.js shows that its socket closed, but not why, and it sends before and after the connection.
const NativeSocket = window.WebSocket;
window.WebSocket = class extends NativeSocket {
  constructor(...args) {
    super(...args);
    this.addEventListener("open", () => {
      opened = true;
      focusTerminal();
      this.send(JSON.stringify(["focus"])); // it may have had the focus before there was anybody to tell
    });
    this.addEventListener("close", (event) => {
      lost = opened && event.code === ABNORMAL_CLOSURE;
      document.getElementById("reason").textContent = event.reason || (opened ? LOST : REFUSED);
      document.getElementById("again").focus();
    });
  }

  send(data) {
    if (this.readyState === NativeSocket.OPEN) super.send(data);
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

// The terminal understands a mouse only. A tap becomes a click, and a drag turns the wheel.
let touch = null;

function sendMouse(type, at) {
  const target = document.querySelector(".xterm-screen");
  const place = { clientX: at.clientX, clientY: at.clientY, bubbles: true, cancelable: true };
  if (type === "wheel") target.dispatchEvent(new WheelEvent(type, { ...place, deltaY: at.deltaY }));
  else target.dispatchEvent(new MouseEvent(type, { ...place, button: 0, buttons: type === "mousedown" ? 1 : 0 }));
}

function touchStarted(event) {
  const at = event.touches[0];
  touch = event.touches.length === 1 ? { startY: at.clientY, lastY: at.clientY, dragged: false } : null;
}

function touchMoved(event) {
  if (!touch) return;
  const { clientX, clientY } = event.touches[0];
  touch.dragged ||= Math.abs(clientY - touch.startY) > TAP_PIXELS;
  if (!touch.dragged) return;
  event.preventDefault();
  sendMouse("wheel", { clientX, clientY, deltaY: touch.lastY - clientY });
  touch.lastY = clientY;
}

function touchEnded(event) {
  if (touch && !touch.dragged) {
    event.preventDefault(); // otherwise some browsers send the mouse events as well
    sendMouse("mousedown", event.changedTouches[0]);
    sendMouse("mouseup", event.changedTouches[0]);
    focusTerminal();
  }
  touch = null;
}

terminal.addEventListener("touchstart", touchStarted, { capture: true, passive: true });
terminal.addEventListener("touchmove", touchMoved, { capture: true, passive: false });
terminal.addEventListener("touchend", touchEnded, { capture: true, passive: false });

// The terminal measures its font when it starts, so the font has to be there first.
// It also draws each character once and keeps it, so all faces are loaded.
const start = window.onload;
window.onload = null;
const faces = ["16px", "bold 16px", "italic 16px", "italic bold 16px"];
Promise.all(faces.map((face) => document.fonts.load(`${face} "Roboto Mono"`)))
  .catch(() => {})
  .then(() => start());
