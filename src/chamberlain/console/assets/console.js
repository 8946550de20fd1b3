// SPDX-License-Identifier: Apache-2.0
// Every page works without this module.

// Times in the zone of the browser, as its variant of the language of the page has them. The server writes UTC.
const language = document.documentElement.lang;
const variant = navigator.languages.find((each) => each.startsWith(language)) ?? language;
const written = new Intl.DateTimeFormat(variant, { dateStyle: "medium", timeStyle: "short" });

for (const time of document.querySelectorAll("time[datetime]")) {
  time.textContent = written.format(new Date(time.dateTime));
}

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
