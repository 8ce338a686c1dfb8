import { longForm } from './scopes.ts';

/** How a scripted person answers the consent page. */
export interface PersonsAnswer {
  account: string;
  /** The scopes that stay ticked, short or long; default: all. */
  scopes?: string[];
  deny?: boolean;
}

/**
 * Does what a person does in the browser: opens the authorization URL, fills in the consent page and sends it. Returns the URL
 * that the browser is redirected to, without opening it. Throws Error when the server shows an error page instead.
 */
export async function authorizeInBrowser(authorizationUrl: string, answer: PersonsAnswer): Promise<string> {
  const page = await fetch(authorizationUrl, { redirect: 'manual' });
  const early = page.headers.get('location');
  if (early !== null) {
    await page.body?.cancel();
    return early;
  }
  const html = await page.text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1];
  if (page.status !== 200 || request === undefined) {
    throw new Error(`The authorization page answered ${page.status}: ${html.slice(0, 200)}`);
  }
  const offered = [...html.matchAll(/name="scope" value="([^"]+)"/g)].map((match) => match[1]!);
  const wanted = answer.scopes?.map(longForm);
  const form = new URLSearchParams({ request, account: answer.account, answer: answer.deny ? 'deny' : 'allow' });
  for (const scope of offered.filter((each) => wanted === undefined || wanted.includes(each))) {
    form.append('scope', scope);
  }
  const action = new URL('/o/oauth2/v2/consent', authorizationUrl);
  const sent = await fetch(action, { method: 'POST', body: form, redirect: 'manual' });
  await sent.body?.cancel();
  const location = sent.headers.get('location');
  if (location === null) {
    throw new Error(`The consent page answered ${sent.status}`);
  }
  return location;
}
