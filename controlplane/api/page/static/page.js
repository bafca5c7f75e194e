// What does the page gain where scripts run? Live refresh, local times, and buttons that copy. Everything works without.

const refreshMs = 2000;
const gatherMs = 300;
let paused = sessionStorage.getItem("paused") === "yes";

function busy() {
  const here = document.activeElement;
  const main = document.querySelector("main");
  return document.hidden || !getSelection().isCollapsed || main.querySelector("details.mode[open]")
    || (main.contains(here) && here !== main && !here.id);
}

async function swap(address, { scroll = false } = {}) {
  const reply = await fetch(address, { headers: { Accept: "text/html" } });
  if (!reply.ok) throw new Error(`${reply.status} at ${address}`);
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("main");
  const focused = document.activeElement.id;
  const whyTop = document.querySelector(".why")?.scrollTop ?? 0;
  document.querySelector("main").replaceWith(fresh);
  const why = fresh.querySelector(".why");
  if (why && !scroll) why.scrollTop = whyTop;
  if (why && scroll && matchMedia("(max-width: 1000px)").matches) why.scrollIntoView();
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

// A decision refreshes at once, however many come together. A hidden page lets go: browsers allow few streams.
function follow(refresh) {
  let events, due;
  const told = () => (due ??= setTimeout(() => { due = undefined; refresh(); }, gatherMs));
  const attend = () => {
    events?.close();
    events = document.hidden ? undefined : new EventSource("/api/v1/events");
    events?.addEventListener("decision", told);
  };
  document.addEventListener("visibilitychange", attend);
  addEventListener("pagehide", () => events?.close());
  attend();
}

document.addEventListener("click", (event) => {
  const bar = event.target.closest?.("a.bar");
  if (!bar || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const address = new URL(bar.getAttribute("href"), location.href).href;
  history.pushState(null, "", address);
  swap(address, { scroll: true }).catch(() => location.reload());
});
addEventListener("popstate", () => swap(location.href).catch(() => location.reload()));

const toggle = document.getElementById("live");
if (toggle) {
  const show = (text) => {
    toggle.textContent = text ?? (paused ? "Paused · resume" : "Live · pause");
    toggle.setAttribute("aria-pressed", String(paused));
  };
  toggle.addEventListener("click", () => {
    paused = !paused;
    sessionStorage.setItem("paused", paused ? "yes" : "no");
    show();
  });
  toggle.hidden = false;
  show();
  const refresh = () =>
    paused || busy() ? undefined : swap(location.href).then(() => show(), () => show("Not reachable · pause"));
  setInterval(refresh, refreshMs);
  follow(refresh);
}
dress(document);
