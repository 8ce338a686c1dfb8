/** Input of a scripted user at the sign-in page. */
export interface PersonsAnswer {
  account: string;
  /** Among the scopes that can be unticked, the ones to keep, in full or without the part up to their last slash; default: all. */
  scopes?: readonly string[];
  deny?: boolean;
}

/**
 * Acts as a user in the browser: opens the authorization URL, fills in the page and sends the form. Returns the URL of the redirect without
 * opening it. Throws Error when the server shows an error page instead.
 */
export async function authorizeInBrowser(authorizationUrl: string, answer: PersonsAnswer): Promise<string> {
  const page = await fetch(authorizationUrl, { redirect: 'manual' });
  const early = page.headers.get('location');
  const html = await page.text();
  if (early !== null) return early;
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1];
  const action = /action="([^"]+)"/.exec(html)?.[1];
  if (page.status !== 200 || request === undefined || action === undefined) {
    throw new Error(`The sign-in page answered ${page.status}: ${html.slice(0, 300)}`);
  }
  const form = new URLSearchParams({ request, ...fieldsOf(answer) });
  const offered = [...html.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope = '']) => scope);
  for (const scope of offered) {
    const isTicked = answer.scopes?.some((each) => scope === each || scope.endsWith(`/${each}`)) ?? true;
    if (isTicked) form.append('scope', scope);
  }
  const sent = await sendForm(new URL(action, authorizationUrl), form);
  const location = sent.headers.get('location');
  if (location === null) throw new Error(`The sign-in page answered ${sent.status}`);
  return location;
}

/** Types a device's code into the page at `verificationUri` and answers it. Throws Error when the code is unknown. */
export async function approveDevice(verificationUri: string, userCode: string, answer: PersonsAnswer): Promise<void> {
  const form = new URLSearchParams({ user_code: userCode, ...fieldsOf(answer) });
  const sent = await sendForm(new URL(verificationUri), form);
  if (sent.status !== 200) throw new Error(`The device page answered ${sent.status}`);
}

function fieldsOf({ account, deny }: PersonsAnswer): Record<string, string> {
  return { account, answer: deny ? 'deny' : 'allow' };
}

async function sendForm(url: URL, body: URLSearchParams): Promise<Response> {
  const sent = await fetch(url, { method: 'POST', body, redirect: 'manual' });
  await sent.body?.cancel();
  return sent;
}
