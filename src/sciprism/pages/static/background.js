// Sends files, then shows how far the work on them is until none is pending.
const get = id => document.getElementById(id);
let timer;
const isPending = item => item.matches("[data-pending]") || !!item.querySelector("[data-pending]");

async function follow() {
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (get("items").matches("[data-wait]") && answer.status !== 202) return location.reload();
    const items = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("items");
    if (answer.ok) items ? show(items) : location.reload();
  } catch { } // the service or the network is gone for a while: it is asked again
  clearTimeout(timer);
  if (isPending(get("items"))) timer = setTimeout(follow, 1000);
}
function show(items) { // only what changed is replaced, so that the focus and a reader's place remain
  const list = get("items"), shown = [...items.children];
  shown.forEach((item, place) => {
    const former = list.children[place];
    if (former?.isEqualNode(item)) return;
    const title = item.querySelector("h2")?.textContent;
    if (title && former && isPending(former) && !isPending(item)) get("said").textContent = `${title}: ${item.querySelector(".error") ? "failed" : "ready"}`;
    former ? former.replaceWith(item) : list.append(item);
  });
  while (list.children.length > shown.length) list.lastElementChild.remove();
}
const texts = files => Promise.all([...files].map(async file => ({ name: file.name, text: await file.text() })));
async function read(form) {
  const body = {};
  for (const field of form.elements) {
    if (field.type === "file") body[field.name] = field.multiple ? await texts(field.files) : (await texts(field.files))[0];
    else if (field.name && field.value) body[field.name] = field.type === "number" ? +field.value : field.value;
  }
  return JSON.stringify(body);
}

document.querySelector("form[data-send]")?.addEventListener("submit", async event => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  get("said").textContent = "Sending …";
  try {
    const form = event.target, [file] = form.dataset.send === "file" ? get("file").files : [];
    const facts = file ? `?${new URLSearchParams({ filename: file.name, name: get("title").value })}` : "";
    const type = file ? {} : { "content-type": "application/json" }, body = file ?? await read(form);
    const answer = await fetch(form.action + facts, { method: "POST", body, headers: type });
    if (!answer.ok) throw new Error(await answer.json().then(({ error }) => error.message, () => `status ${answer.status}`));
    get("said").textContent = "Sent.";
    event.target.reset();
    await follow();
  } catch (error) {
    get("said").textContent = `Not sent: ${error.message}`;
  }
  button.disabled = false;
});
if (get("items") && isPending(get("items"))) timer = setTimeout(follow, 1000);
