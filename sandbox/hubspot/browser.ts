/** How a scripted person answers the page that installs an app. */
export interface PersonsAnswer {
  account: string;
  deny?: boolean;
}

/**
 * Does what a person does in the browser: opens the authorization URL, fills in the page and sends it. Returns the URL that
 * the browser is redirected to, without opening it. Throws Error when the server shows an error page instead.
 */
export async function authorizeInBrowser(authorizationUrl: string, answer: PersonsAnswer): Promise<string> {
  const page = await fetch(authorizationUrl, { redirect: 'manual' });
  const html = await page.text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1];
  const action = /action="([^"]+)"/.exec(html)?.[1];
  if (page.status !== 200 || request === undefined || action === undefined) {
    throw new Error(`The authorization page answered ${page.status}: ${html.slice(0, 300)}`);
  }
  const fields = { request, account: answer.account, answer: answer.deny ? 'deny' : 'allow' };
  const sent = await fetch(new URL(action, authorizationUrl), {
    method: 'POST',
    body: new URLSearchParams(fields),
    redirect: 'manual',
  });
  await sent.body?.cancel();
  const location = sent.headers.get('location');
  if (location === null) {
    throw new Error(`The page that installs the app answered ${sent.status}`);
  }
  return location;
}
