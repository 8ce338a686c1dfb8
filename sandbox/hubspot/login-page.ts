import type { PendingRequest } from './authorization.ts';

/** The page on which a person installs an app into the account. It posts to `action`. */
export function installPage({ id, application, scopes }: PendingRequest, portalId: number, action: string): string {
  const lines = scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join('');
  return page(`<h1>Connect ${escapeHtml(application.clientId)} to account ${portalId}</h1>
<ul>${lines}</ul>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="request" value="${escapeHtml(id)}">
<p><label>User <input name="account" required value="admin@clinic.example"></label></p>
<p><button name="answer" value="allow">Connect app</button> <button name="answer" value="deny" formnovalidate>Cancel</button></p>
</form>`);
}

/** A page with nothing but a sentence. */
export function messagePage(message: string): string {
  return page(`<p>${escapeHtml(message)}</p>`);
}

function page(content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Connect app - sandbox</title></head><body>
${content}
</body></html>
`;
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
