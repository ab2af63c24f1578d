// Sends files, then shows how far the work on them is until none is pending.
const get = id => document.getElementById(id), csrf = document.querySelector("meta[name=csrf]").content;

async function follow() {
  const answer = await fetch(location.pathname, { headers: { accept: "text/html" } });
  if (answer.ok) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    get("items").replaceChildren(...page.getElementById("items").children);
  }
  if (document.querySelector("[data-pending]")) setTimeout(follow, 1000);
}
const texts = id => Promise.all([...get(id).files].map(async file => ({ name: file.name, text: await file.text() })));
const send = {
  async upload() {
    const [file] = get("file").files, facts = new URLSearchParams({ filename: file.name, name: get("title").value });
    return [`/workspace/collections?${facts}`, file];
  },
  async match() {
    const numbers = { per_paper: +get("per_paper").value, max_papers: +get("max_papers").value };
    const files = { submissions: await texts("submissions"), reviewers: await texts("reviewers") };
    return ["/workspace/matches", JSON.stringify({ title: get("title").value, ...numbers, ...files })];
  },
};

document.querySelector("form[data-send]").addEventListener("submit", async event => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  get("said").textContent = "Sending …";
  try {
    const [address, body] = await send[event.target.dataset.send]();
    const type = typeof body === "string" ? { "content-type": "application/json" } : {};
    const answer = await fetch(address, { method: "POST", body, headers: { "x-csrf-token": csrf, ...type } });
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
