// What does the page gain where scripts run? Live refresh, local times, and buttons that copy. Everything works without.

const refreshMs = 2000;
let paused = sessionStorage.getItem("paused") === "yes";

function busy() {
  const here = document.activeElement;
  return document.hidden || !getSelection().isCollapsed || document.querySelector("details.mode[open]")
    || (here && ["INPUT", "SELECT", "TEXTAREA"].includes(here.tagName));
}

async function swap(address, { scroll = false } = {}) {
  const reply = await fetch(address, { headers: { Accept: "text/html" } });
  if (!reply.ok) return;
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("main");
  const focused = document.activeElement && document.activeElement.id;
  const why = document.querySelector(".why");
  const whyTop = why ? why.scrollTop : 0;
  document.querySelector("main").replaceWith(fresh);
  const freshWhy = fresh.querySelector(".why");
  if (freshWhy && scroll && matchMedia("(max-width: 1000px)").matches) freshWhy.scrollIntoView();
  else if (freshWhy && !scroll) freshWhy.scrollTop = whyTop;
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  dress(fresh);
}

function dress(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    time.title = time.dateTime;
    time.textContent = time.dataset.form === "clock" ? at.toLocaleTimeString() : at.toLocaleString();
  }
  for (const block of root.querySelectorAll("pre.copy")) {
    const button = Object.assign(document.createElement("button"), { className: "quiet", textContent: "Copy" });
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = "Copied";
    });
    block.after(button);
  }
}

document.addEventListener("click", (event) => {
  const bar = event.target.closest?.("a.bar");
  if (!bar || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const address = bar.getAttribute("href");
  history.pushState(null, "", address);
  swap(address, { scroll: true });
});
addEventListener("popstate", () => swap(location.href));

const toggle = document.getElementById("live");
if (toggle) {
  const show = () => {
    toggle.hidden = false;
    toggle.textContent = paused ? "Paused – resume" : "Live – pause";
    toggle.setAttribute("aria-pressed", String(paused));
  };
  toggle.addEventListener("click", () => {
    paused = !paused;
    sessionStorage.setItem("paused", paused ? "yes" : "no");
    show();
  });
  show();
  setInterval(() => { if (!paused && !busy()) swap(location.href).catch(() => {}); }, refreshMs);
}
dress(document);
