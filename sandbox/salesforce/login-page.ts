import type { PendingRequest } from './authorization.ts';

/** The page on which a person logs in and allows access. It posts to `action`. */
export function loginPage(pending: PendingRequest, usernames: readonly string[], action: string): string {
  const scopes = pending.scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join('');
  const options = usernames.map((name) => `<option value="${escapeHtml(name)}">`).join('');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Log in - sandbox</title></head><body>
<h1>Allow access to ${escapeHtml(pending.application.clientId)}?</h1>
<ul>${scopes}</ul>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="request" value="${escapeHtml(pending.id)}">
<p><label>Username <input name="username" list="usernames" required value="${escapeHtml(usernames[0] ?? '')}"></label>
<datalist id="usernames">${options}</datalist></p>
<p><button name="answer" value="allow">Allow</button> <button name="answer" value="deny" formnovalidate>Deny</button></p>
</form>
</body></html>
`;
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
