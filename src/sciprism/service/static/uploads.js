// Sends a file as the body of a request, then shows how far the uploads are until none is pending.
const get = id => document.getElementById(id), csrf = document.querySelector("meta[name=csrf]").content;

async function follow() {
  const answer = await fetch("/uploads", { headers: { accept: "text/html" } });
  if (answer.ok) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    get("uploads").replaceChildren(...page.getElementById("uploads").children);
  }
  if (document.querySelector("[data-pending]")) setTimeout(follow, 1000);
}

get("upload").addEventListener("submit", async event => {
  event.preventDefault();
  const [file] = get("file").files, facts = new URLSearchParams({ filename: file.name, name: get("title").value });
  const button = event.submitter;
  if (button) button.disabled = true;
  get("said").textContent = "Sending the file …";
  try {
    const answer = await fetch(`/workspace/collections?${facts}`, { method: "POST", body: file, headers: { "x-csrf-token": csrf } });
    if (!answer.ok) throw new Error((await answer.json()).error.message);
    get("said").textContent = "";
    event.target.reset();
    await follow();
  } catch (error) {
    get("said").textContent = `Not uploaded: ${error.message}`;
  }
  if (button) button.disabled = false;
});
if (document.querySelector("[data-pending]")) setTimeout(follow, 1000);
