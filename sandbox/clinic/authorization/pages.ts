/** Makes a text safe inside HTML elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A whole page; `body` is HTML. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>body{font-family:system-ui,sans-serif;max-width:26rem;margin:3rem auto;padding:0 1rem}label{display:block;margin:.6rem 0}</style>
</head>
<body><h1>${escapeHtml(title)}</h1>
${body}
</body>
</html>`;
}

export function loginPage(uid: string, problem?: string): string {
  const message = problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`;
  return page(
    'Clinic sign-in',
    `${message}<form id="login" method="post" action="/interaction/${escapeHtml(uid)}/login">
<label>User name <input name="username" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Log in</button>
</form>`,
  );
}

/** Renders a box for each requested scope; `openid` is required and cannot be unticked. */
export function consentPage(uid: string, clientId: string, scopes: readonly string[]): string {
  const boxes = scopes.map((scope) => {
    const name = escapeHtml(scope);
    const fixed = scope === 'openid' ? ' disabled' : '';
    return `<label><input type="checkbox" name="scope" value="${name}" checked${fixed}> ${name}</label>`;
  });
  return page(
    `Allow ${clientId}?`,
    `<form id="consent" method="post" action="/interaction/${escapeHtml(uid)}/consent">
${boxes.join('\n')}
<button type="submit">Allow</button>
</form>
<form id="deny" method="post" action="/interaction/${escapeHtml(uid)}/deny"><button type="submit">Refuse</button></form>`,
  );
}

/** `form` is the authorization server's own form, which these pages complete with fields and buttons. */
export function userCodePage(form: string, problem?: string): string {
  const message = problem === undefined ? 'Type the code that your device shows.' : problem;
  return page(
    'Connect a device',
    `<p>${escapeHtml(message)}</p>${form}<button type="submit" form="op.deviceInputForm">Continue</button>`,
  );
}

export function userCodeConfirmPage(form: string, clientId: string, userCode: string): string {
  return page(
    `Connect ${clientId}?`,
    `<p>Does your device show this code? <code>${escapeHtml(userCode)}</code></p>${form}
<button type="submit" form="op.deviceConfirmForm">It does</button>
<button type="submit" form="op.deviceConfirmForm" name="abort" value="yes">It does not</button>`,
  );
}
