// Keys of the desks: each presses the button or link that names it, or goes to the field. They can be switched off.
const keys = document.getElementById("keys");
keys.checked = localStorage.getItem("keys") !== "off";
keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));
document.addEventListener("keydown", event => {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && typing) typing.blur();
  if (typing || !keys.checked || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const control = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]:not(:disabled)`);
  if (!control) return;
  event.preventDefault();
  if (control.matches("button, a")) control.click(); else control.focus();
});
