// SPDX-License-Identifier: Apache-2.0
// Every page works without this module.

// Times in the zone of the browser, as its variant of the language of the page has them. The server writes UTC.
const language = document.documentElement.lang;
const variant = navigator.languages.find((each) => each.startsWith(language)) ?? language;
const written = new Intl.DateTimeFormat(variant, { dateStyle: "medium", timeStyle: "short" });

function localize(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.textContent = written.format(new Date(time.dateTime));
  }
}

localize(document);

// A chosen day ends at midnight in the zone of the browser.
for (const field of document.querySelectorAll("input[data-zone]")) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

// The account menu closes by Escape, and by a click elsewhere.
const menu = document.querySelector("details.menu");

if (menu) {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
}

// Catalog: cards that do not match the typed words disappear.
for (const form of document.querySelectorAll("form[data-filter]")) {
  const line = form.querySelector("input[type=search]");
  const number = document.querySelector("[data-filter-number]");
  form.querySelector("[data-search-button]").hidden = true;
  // After a search by the server, only its results are here.
  if (line.value) form.querySelector("[data-search-button]").hidden = false;
  const filter = () => {
    const words = line.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const section of document.querySelectorAll("[data-card-section]")) {
      let within = 0;
      for (const card of section.querySelectorAll("[data-card]")) {
        const text = card.textContent.toLocaleLowerCase();
        card.hidden = !words.every((word) => text.includes(word));
        within += card.hidden ? 0 : 1;
      }
      section.hidden = !within;
      shown += within;
    }
    number.textContent = shown === 1 ? number.dataset.one : number.dataset.many.replace("{number}", shown);
  };
  if (!line.value) line.addEventListener("input", filter);
}

// New request: the preview follows the form.
for (const form of document.querySelectorAll("form[data-order]")) {
  const preview = form.querySelector("[data-preview]");
  const status = form.querySelector("[data-preview-status]");
  const touched = new Set();
  let timer;
  let running;
  form.querySelector("[data-check]").hidden = true;

  const tell = (field, text) => {
    const shown = field.querySelector("[data-fault-text]");
    const control = field.querySelector("input:not([type=hidden], [type=radio]), select, textarea") ?? field;
    shown.textContent = text;
    shown.hidden = !text;
    if (text) {
      control.setAttribute("aria-invalid", "true");
    } else {
      control.removeAttribute("aria-invalid");
    }
    const others = (control.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== shown.id);
    control.setAttribute("aria-describedby", [...others, ...(text ? [shown.id] : [])].join(" "));
  };

  const refresh = async () => {
    clearTimeout(timer);
    running?.abort();
    running = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    preview.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { "X-Part": "preview" }, signal: running.signal });
      // The answer to a user who is signed out has a link to the sign-in.
      if (answer.redirected || !(answer.ok || answer.status === 401)) return preview.removeAttribute("aria-busy");
      // The server escapes all that users typed, and the policy of the page allows no other script.
      preview.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
      status.textContent = preview.querySelector("[data-status]")?.textContent ?? "";
      preview.removeAttribute("aria-busy");
      if (!answer.ok) return;
      const faults = new Map(
        [...preview.querySelectorAll("template[data-fault]")].map((each) => [each.dataset.fault, each.content.textContent]),
      );
      for (const field of form.querySelectorAll("[data-pointer]")) {
        // An error that is shown goes as soon as it is corrected. A new one waits until the user leaves the field.
        // A picker with a typed name has a message about this name.
        if (field.querySelector(".picker-line > input")?.value) continue;
        const is_shown = !field.querySelector("[data-fault-text]").hidden;
        if (is_shown || touched.has(field.dataset.pointer)) tell(field, faults.get(field.dataset.pointer) ?? "");
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      preview.removeAttribute("aria-busy");
    }
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 300);
  };

  form.addEventListener("input", (event) => {
    if (!event.target.name.startsWith("find:")) later();
  });
  form.addEventListener("change", (event) => {
    if (!event.target.name?.startsWith("find:")) later();
  });
  form.addEventListener("focusout", (event) => {
    const field = event.target.closest("[data-pointer]");
    if (field && event.target.value && !event.target.name.startsWith("find:")) touched.add(field.dataset.pointer);
    if (field && event.target.value) later();
  });
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value === "send") {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
    } else if (event.submitter?.value === "check") {
      event.preventDefault();
      refresh();
    }
  });
  addEventListener("pageshow", () => delete form.dataset.sent);
  // The user has perhaps signed in in another tab.
  addEventListener("focus", () => preview.querySelector("[data-signed-out]") && refresh());
  if (new FormData(form).get("/displayName") && !form.querySelector("[data-summary]")) refresh();
}

// People picker: the combobox pattern of WAI-ARIA 1.2. The focus stays in the line.
for (const picker of document.querySelectorAll("[data-picker]")) {
  const line = picker.querySelector(".picker-line > input");
  const chips = picker.querySelector("[data-chips]");
  const known = new Map();
  const list = Object.assign(document.createElement("ul"), { id: `${line.id}-list`, className: "picker-list", hidden: true });
  let people = [];
  let at = -1;
  let timer;
  let running;

  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", picker.querySelector("label").textContent.trim());
  for (const [name, value] of Object.entries({
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": list.id,
    "aria-autocomplete": "list",
  })) {
    line.setAttribute(name, value);
  }
  line.after(list);
  picker.querySelector("[data-add]").hidden = true;

  const tell = (text) => {
    const shown = picker.querySelector("[data-fault-text]");
    shown.textContent = text;
    shown.hidden = !text;
  };
  const close = () => {
    list.hidden = true;
    at = -1;
    line.setAttribute("aria-expanded", "false");
    line.removeAttribute("aria-activedescendant");
  };
  const mark = (place) => {
    at = place;
    [...list.children].forEach((each, index) => each.setAttribute("aria-selected", String(index === at)));
    const option = list.children[at];
    if (!option) return line.removeAttribute("aria-activedescendant");
    line.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };
  const face = (name) => {
    const parts = name.split(/\s+/).filter(Boolean);
    const letters = (parts[0] ?? "?").slice(0, 1) + (parts.length > 1 ? parts.at(-1).slice(0, 1) : "");
    return letters.toLocaleUpperCase();
  };
  const option = (person, index) => {
    const item = document.createElement("li");
    item.id = `${list.id}-${index}`;
    item.setAttribute("role", "option");
    const made = Object.assign(document.createElement("span"), { className: "face", textContent: face(person.name) });
    made.setAttribute("aria-hidden", "true");
    const text = document.createElement("span");
    text.append(person.name, Object.assign(document.createElement("small"), { textContent: person.detail }));
    item.append(made, text);
    item.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      choose(person);
    });
    return item;
  };
  const show = (found) => {
    people = found;
    list.replaceChildren(...people.map(option));
    list.hidden = !people.length;
    line.setAttribute("aria-expanded", String(!list.hidden));
    mark(people.length ? 0 : -1);
  };
  const choose = (person) => {
    const is_chosen = [...chips.children].some((each) => each.dataset.person === person.id);
    if (picker.dataset.picker === "person") chips.replaceChildren();
    if (!is_chosen || picker.dataset.picker === "person") {
      const chip = picker.querySelector("template[data-chip]").content.cloneNode(true).firstElementChild;
      chip.dataset.person = person.id;
      chip.querySelector(".face").textContent = face(person.name);
      chip.querySelector(".chip-name").textContent = person.name;
      for (const each of chip.querySelectorAll("[name], [aria-label]")) {
        for (const name of ["name", "value", "aria-label"]) {
          const value = each.getAttribute(name);
          if (value) each.setAttribute(name, value.replace("{id}", person.id).replace("{name}", () => person.name));
        }
      }
      chips.append(chip);
    }
    line.value = "";
    tell("");
    close();
    chips.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const ask = (text, signal) => fetch(`/console/people?q=${encodeURIComponent(text)}`, { signal });
  const find = async () => {
    running?.abort();
    const text = line.value.trim();
    if (text.length < 2 || picker.dataset.picker !== "person" && split(text).length > 1) return close();
    if (known.has(text)) return show(known.get(text));
    running = new AbortController();
    try {
      const answer = await ask(text, running.signal);
      if (!answer.headers.get("content-type")?.startsWith("application/json")) return;
      const found = await answer.json();
      if (answer.ok) known.set(text, found.people);
      tell(answer.ok && !found.people.length ? picker.dataset.unknown : found.message);
      show(found.people);
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  };

  // A pasted list, as mail programs copy it. A comma ends an address, but belongs to a name.
  const split = (text) =>
    text
      .replace(/(@[^\s,;]+),/g, "$1;")
      .split(/[;\n]/)
      .map((each) => (each.match(/<(.+@.+)>/)?.[1] ?? each).trim())
      .filter(Boolean);
  const only = (found, text) => {
    const exact = found.filter((each) => [each.name, each.mail].some((is) => is.toLowerCase() === text.toLowerCase()));
    return exact.length === 1 ? exact[0] : found.length === 1 ? found[0] : null;
  };
  const add = async (names) => {
    const rest = [];
    let message = "";
    line.readOnly = true;
    for (const name of names) {
      const answer = message ? null : await ask(name).catch(() => null);
      const is_read = answer?.headers.get("content-type")?.startsWith("application/json");
      const found = is_read ? await answer.json() : { people: [], message };
      const person = only(found.people, name);
      message = found.message;
      if (person) choose(person);
      else rest.push(name);
    }
    line.readOnly = false;
    line.value = rest.join("; ");
    tell(rest.length ? message || picker.dataset.rest : "");
  };

  line.addEventListener("paste", (event) => {
    const names = split(event.clipboardData.getData("text"));
    if (names.length < 2 || picker.dataset.picker === "person") return;
    event.preventDefault();
    add(names);
  });
  line.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, 200);
  });
  line.addEventListener("blur", close);
  line.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (!list.hidden && people[at]) choose(people[at]);
      else if (picker.dataset.picker !== "person" && split(line.value).length > 1) add(split(line.value));
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden && people.length && line.value) return show(people);
      const step = event.key === "ArrowDown" ? 1 : people.length - 1;
      if (people.length) mark((Math.max(at, 0) + (at < 0 ? 0 : step)) % people.length);
    }
  });
  chips.addEventListener("click", (event) => {
    const button = event.target.closest(".chip-remove");
    if (!button) return;
    event.preventDefault();
    button.closest(".chip").remove();
    line.focus();
    chips.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

// Requests. Buttons copy addresses. The page of an open request follows its stream.
const said = document.querySelector("[data-said]");

function showCopies(root) {
  for (const button of root.querySelectorAll("[data-copy]")) button.hidden = false;
}

showCopies(document);
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.querySelector("span").textContent = button.dataset.copied;
  if (said) said.textContent = button.dataset.copied;
});

// Replace a live part, unless nothing has changed. Open details stay open, and the focus stays where it was. A question
// that the user has opened does not disappear while the request runs for a moment; its answer may come too late.
function put(id, content, hasEnded) {
  const old = document.getElementById(id);
  const part = content.querySelector(`#${id}`);
  if (!old || !part) return;
  if (!hasEnded && old.querySelector("details[open]") && !part.querySelector("details")) return;
  localize(part);
  showCopies(part);
  for (const details of old.querySelectorAll("details[open][id]")) {
    part.querySelector(`#${details.id}`)?.setAttribute("open", "");
  }
  if (old.isEqualNode(part)) return;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  old.replaceWith(part);
  if (!focused) return;
  (same(part, focused) ?? part).focus({ preventScroll: true });
  // An empty part is hidden.
  if (!part.contains(document.activeElement)) document.getElementById("request-progress").focus({ preventScroll: true });
}

// The element that takes the place of another one: the one with its id, or with its tag and text.
function same(part, element) {
  if (element.id) return part.querySelector(`#${element.id}`);
  return [...part.querySelectorAll(element.tagName)].find((each) => each.textContent === element.textContent);
}

function follow(live) {
  const lost = live.querySelector("[data-lost]");
  let stream = null;

  const close = () => {
    stream?.close();
    stream = null;
  };
  const open = () => {
    if (stream || "ended" in live.dataset) return;
    stream = new EventSource(live.dataset.live);
    stream.addEventListener("open", () => {
      lost.hidden = true;
    });
    stream.addEventListener("error", () => {
      // The browser connects again by itself, unless the answer was no stream.
      lost.hidden = stream?.readyState !== EventSource.CLOSED || "ended" in live.dataset;
    });
    stream.addEventListener("parts", (event) => show(event.data));
  };
  const show = (markup) => {
    const parts = new DOMParser().parseFromString(markup, "text/html");
    const hasEnded = parts.querySelector("template[data-end]") !== null;
    for (const each of parts.querySelectorAll("template[data-put]")) put(each.dataset.put, each.content, hasEnded);
    const news = parts.querySelector("template[data-say]").content.textContent.trim();
    if (said && news !== live.dataset.news) said.textContent = news;
    live.dataset.news = news;
    if (hasEnded) {
      live.dataset.ended = "";
      close();
    }
  };

  // Browsers have few connections to a host, so hidden tabs give theirs back.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", () => document.hidden || open());
}

for (const live of document.querySelectorAll("[data-live]")) follow(live);
