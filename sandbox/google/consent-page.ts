import type { PendingRequest } from './authorization.ts';
import { isLoginScope } from './scopes.ts';

/** The page on which a person picks an account and ticks scopes. */
export function consentPage(pending: PendingRequest, accounts: readonly string[]): string {
  const options = accounts
    .map((email) => `<option value="${escapeHtml(email)}"${selected(email, pending.loginHint)}>`)
    .join('');
  const boxes = pending.scopes
    .filter((scope) => !isLoginScope(scope))
    .map(
      (scope) =>
        `<p><label><input type="checkbox" name="scope" value="${escapeHtml(scope)}" checked> ${escapeHtml(scope)}</label></p>`,
    )
    .join('\n');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in - sandbox</title></head><body>
<h1>${escapeHtml(pending.client.clientId)} wants access</h1>
<form method="post" action="/o/oauth2/v2/consent">
<input type="hidden" name="request" value="${escapeHtml(pending.id)}">
<p><label>Account <input name="account" list="accounts" required value="${escapeHtml(pending.loginHint ?? accounts[0] ?? '')}"></label>
<datalist id="accounts">${options}</datalist></p>
${boxes}
<p><button name="answer" value="allow">Continue</button> <button name="answer" value="deny" formnovalidate>Cancel</button></p>
</form></body></html>
`;
}

function selected(email: string, loginHint: string | undefined): string {
  return email === loginHint ? ' selected' : '';
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
