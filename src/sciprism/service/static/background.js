// Sends files, then shows how far the work on them is until none is pending.
const get = id => document.getElementById(id), csrf = document.querySelector("meta[name=csrf]").content;

async function follow() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (answer.ok) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    get("items").replaceChildren(...page.getElementById("items").children);
  }
  if (document.querySelector("[data-pending]")) setTimeout(follow, 1000);
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
    const answer = await fetch(form.action + facts, { method: "POST", body, headers: { "x-csrf-token": csrf, ...type } });
    if (!answer.ok) throw new Error((await answer.json()).error.message);
    get("said").textContent = "";
    event.target.reset();
    await follow();
  } catch (error) {
    get("said").textContent = `Not sent: ${error.message}`;
  }
  button.disabled = false;
});
if (document.querySelector("[data-pending]")) setTimeout(follow, 1000);
