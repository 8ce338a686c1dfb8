/** How a scripted person answers a login. */
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
  const early = page.headers.get('location');
  if (early !== null) {
    await page.body?.cancel();
    return early;
  }
  const html = await page.text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1];
  const action = /action="([^"]+)"/.exec(html)?.[1];
  if (page.status !== 200 || request === undefined || action === undefined) {
    throw new Error(`The authorization page answered ${page.status}: ${html.slice(0, 200)}`);
  }
  const sent = await sendForm(new URL(action, authorizationUrl), { request, ...answerFields(answer) });
  const location = sent.headers.get('location');
  if (location === null) {
    throw new Error(`The consent page answered ${sent.status}`);
  }
  return location;
}

/** Types a device's code into the page at `verificationUri` and answers it. Throws Error when the code is unknown. */
export async function approveDevice(verificationUri: string, userCode: string, answer: PersonsAnswer): Promise<void> {
  const sent = await sendForm(new URL(verificationUri), { user_code: userCode, ...answerFields(answer) });
  if (sent.status !== 200) {
    throw new Error(`The device page answered ${sent.status}`);
  }
}

function answerFields({ account, deny }: PersonsAnswer): Record<string, string> {
  return { account, answer: deny ? 'deny' : 'allow' };
}

async function sendForm(url: URL, fields: Record<string, string>): Promise<Response> {
  const sent = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });
  await sent.body?.cancel();
  return sent;
}
