import type { PendingRequest } from './authorization.ts';

/** The page on which a person picks an account and agrees. It posts to `action`. */
export function consentPage(pending: PendingRequest, accounts: readonly string[], action: string): string {
  const scopes = pending.scopes.map((scope) => `<li>${escapeHtml(scope)}</li>`).join('');
  return page(`<h1>${escapeHtml(pending.application.clientId)} asks for permission</h1>
<ul>${scopes}</ul>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="request" value="${escapeHtml(pending.id)}">
${accountField(accounts, pending.loginHint)}
${BUTTONS}
</form>`);
}

/** The page on which a person types the code of a device. */
export function devicePage(accounts: readonly string[], action: string): string {
  return page(`<h1>Enter the code that your device shows</h1>
<form method="post" action="${escapeHtml(action)}">
<p><label>Code <input name="user_code" required autocomplete="off"></label></p>
${accountField(accounts, undefined)}
${BUTTONS}
</form>`);
}

/** A page with nothing but a sentence. */
export function messagePage(message: string): string {
  return page(`<p>${escapeHtml(message)}</p>`);
}

const BUTTONS =
  '<p><button name="answer" value="allow">Accept</button> <button name="answer" value="deny" formnovalidate>Cancel</button></p>';

function accountField(accounts: readonly string[], hint: string | undefined): string {
  const options = accounts.map((mail) => `<option value="${escapeHtml(mail)}">`).join('');
  const value = escapeHtml(hint ?? accounts[0] ?? '');
  return `<p><label>Account <input name="account" list="accounts" required value="${value}"></label>
<datalist id="accounts">${options}</datalist></p>`;
}

function page(content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in - sandbox</title></head><body>
${content}
</body></html>
`;
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
