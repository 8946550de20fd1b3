// SPDX-License-Identifier: Apache-2.0
"use strict";
// The API pages work without this script, except for search and the try-it panels.

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// Menu of narrow screens.
const menu = document.querySelector(".menu");
menu.hidden = false;
document.body.classList.add("scripted");
menu.addEventListener("click", () => {
  const open = document.body.classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
});
for (const link of all(".side a")) {
  link.addEventListener("click", () => {
    document.body.classList.remove("open");
    menu.setAttribute("aria-expanded", "false");
  });
}

// Search in the side bar.
const search = document.getElementById("search");
const found = document.getElementById("found");
document.querySelector(".search").hidden = false;
const nouns = all(".side details").map((details) => ({ details, open: details.open, links: all("a", details) }));
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const { details, open, links } of nouns) {
    const title = details.querySelector("summary").textContent;
    let shown = 0;
    for (const link of links) {
      const text = `${title} ${link.textContent} ${link.dataset.words}`.toLowerCase();
      const matches = words.every((word) => text.includes(word));
      link.parentElement.hidden = !matches;
      shown += Number(matches);
    }
    details.hidden = shown === 0;
    details.open = words.length ? shown > 0 : open;
    count += shown;
  }
  found.textContent = words.length ? (count === 1 ? "1 operation" : `${count} operations`) : "";
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    all(".side details:not([hidden]) li:not([hidden]) a")[0]?.click();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, textarea")) {
    event.preventDefault();
    search.focus();
  }
});

// The language of the samples is the same everywhere.
const languageOf = (input) => input.parentElement.textContent;
const show = (language) => {
  for (const input of all(".samples input")) {
    if (languageOf(input) === language) {
      input.checked = true;
    }
  }
};
for (const input of all(".samples input")) {
  input.addEventListener("change", () => {
    localStorage.setItem("language", languageOf(input));
    show(languageOf(input));
  });
}
show(localStorage.getItem("language"));

// A button that copies a sample.
for (const sample of all(".sample")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(sample.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  sample.append(button);
}

// Try-it panels. The token stays in this tab, until it is closed.
const tokens = all("[data-token]");
const keep = (token) => {
  sessionStorage.setItem("token", token);
  for (const input of tokens) {
    input.value = token;
  }
};
keep(sessionStorage.getItem("token") ?? "");
for (const input of tokens) {
  input.addEventListener("change", () => keep(input.value.trim()));
}

const request = (form) => {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = { Accept: "application/json, text/event-stream" };
  for (const input of all("input", form)) {
    const value = input.value.trim();
    if (input.dataset.path) {
      path = path.replace(`{${input.dataset.path}}`, encodeURIComponent(value));
    } else if (input.dataset.query && value) {
      query.set(input.dataset.query, value);
    } else if (input.dataset.header && value) {
      headers[input.dataset.header] = value;
    } else if ("token" in input.dataset && value) {
      headers.Authorization = `Bearer ${value}`;
    }
  }
  const body = form.querySelector("[data-body]")?.value.trim() || undefined;
  if (body) {
    headers["Content-Type"] = "application/json";
  }
  const address = query.size ? `${path}?${query}` : path;
  return [address, { method: form.dataset.method, headers, body, credentials: "omit" }];
};

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const send = async (form) => {
  const [button, stop] = all("button", form);
  const status = form.querySelector("[role=status]");
  const block = form.querySelector("pre");
  const shown = block.querySelector("code");
  const controller = new AbortController();
  const [address, options] = request(form);
  stop.onclick = () => controller.abort();
  button.disabled = true;
  stop.hidden = false;
  block.hidden = true;
  status.textContent = "Waiting for the answer.";
  try {
    const begin = performance.now();
    const answer = await fetch(address, { ...options, signal: controller.signal });
    const time = Math.round(performance.now() - begin);
    const state = document.createElement("span");
    state.className = `state ${answer.ok ? "good" : "bad"}`;
    state.textContent = String(answer.status);
    status.replaceChildren(state, ` ${time} ms, request-id ${answer.headers.get("request-id")}`);
    shown.textContent = "";
    // An answer 204 may have no body at all.
    const body = answer.body ?? new Blob().stream();
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      shown.textContent += part.value;
      block.hidden = false;
    }
    shown.textContent = pretty(shown.textContent);
  } catch (error) {
    if (error.name !== "AbortError") {
      status.textContent = `The call failed: ${error.message}`;
    }
  } finally {
    button.disabled = false;
    stop.hidden = true;
  }
};

for (const panel of all(".try")) {
  panel.hidden = false;
  panel.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.target);
  });
}
