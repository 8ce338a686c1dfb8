/** How a scripted person answers the login page. */
export interface PersonsAnswer {
  username: string;
  deny?: boolean;
}

/**
 * Does what a person does in the browser: opens the authorization URL, fills in the page and sends it. Returns the URL that
 * the browser is redirected to, without opening it. Throws Error when the server shows an error instead.
 */
export async function authorizeInBrowser(authorizationUrl: string, { username, deny }: PersonsAnswer): Promise<string> {
  const page = await fetch(authorizationUrl, { redirect: 'manual' });
  const early = page.headers.get('location');
  if (early !== null) {
    await page.body?.cancel();
    return early;
  }
  const html = await page.text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1];
  const action = /action="([^"]+)"/.exec(html)?.[1];
  if (page.status !== 200 || request === undefined || action === undefined) {
    throw new Error(`The login page answered ${page.status}: ${html.slice(0, 200)}`);
  }
  const form = new URLSearchParams({ request, username, answer: deny ? 'deny' : 'allow' });
  const sent = await fetch(new URL(action, authorizationUrl), { method: 'POST', body: form, redirect: 'manual' });
  const location = sent.headers.get('location');
  await sent.body?.cancel();
  if (location === null) {
    throw new Error(`The login page answered ${sent.status}`);
  }
  return location;
}
