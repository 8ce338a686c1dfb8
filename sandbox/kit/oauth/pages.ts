import type { Client, LoginRules, PendingRequest } from './vendor.ts';

/** Renders the page on which a user signs in and consents. The form posts to `action`. */
export function loginPage<C extends Client>(
  { id, client, scopes, query }: PendingRequest<C>,
  words: LoginRules<C, never>['page'],
  action: string,
): string {
  const lines = scopes.map((scope) =>
    words.canUntick?.(scope)
      ? `<li><label><input type="checkbox" name="scope" value="${escapeHtml(scope)}" checked> ${escapeHtml(scope)}</label></li>`
      : `<li>${escapeHtml(scope)}</li>`,
  );
  return page(`<h1>${escapeHtml(words.heading(client.clientId))}</h1>
<form method="post" action="${escapeHtml(action)}">
<ul>${lines.join('\n')}</ul>
<input type="hidden" name="request" value="${escapeHtml(id)}">
${accountField(words.people(), query.get('login_hint'))}
${buttons(words.allow)}
</form>`);
}

/** Renders the page on which a user types the code of a device. */
export function devicePage(people: readonly string[], action: string): string {
  return page(`<h1>Enter the code that your device shows</h1>
<form method="post" action="${escapeHtml(action)}">
<p><label>Code <input name="user_code" required autocomplete="off"></label></p>
${accountField(people, null)}
${buttons('Accept')}
</form>`);
}

/** A page with nothing but a sentence. */
export function messagePage(message: string): string {
  return page(`<p>${escapeHtml(message)}</p>`);
}

function buttons(allow: string): string {
  return `<p><button name="answer" value="allow">${allow}</button> <button name="answer" value="deny" formnovalidate>Cancel</button></p>`;
}

function accountField(people: readonly string[], hint: string | null): string {
  const options = people.map((name) => `<option value="${escapeHtml(name)}">`).join('');
  const value = escapeHtml(hint ?? people[0] ?? '');
  return `<p><label>Account <input name="account" list="accounts" required value="${value}"></label>
<datalist id="accounts">${options}</datalist></p>`;
}

function page(content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Log in - sandbox</title></head><body>
${content}
</body></html>
`;
}

/** Text for an HTML element or attribute. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
