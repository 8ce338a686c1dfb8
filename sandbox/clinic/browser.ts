/** What the scripted person does. */
export interface Person {
  username: string;
  password: string;
  /** Ticks only these scopes; default: all requested scopes. */
  scopes?: readonly string[];
  /** Refuses instead of allowing. */
  deny?: boolean;
}

/** Limit of steps, above the length of any sign-in. */
const MOST_STEPS = 20;

interface Page {
  url: string;
  html: string;
  status: number;
}

/**
 * Opens an authorization URL as a user with a fresh browser does: signs in and consents (or refuses). Returns the final redirect URL
 * without opening it. Throws Error when the sign-in stops at a page instead.
 */
export async function authorizeInBrowser(authorizeUrl: string, person: Person): Promise<string> {
  const browser = createBrowser(new URL(authorizeUrl).origin);
  const end = await walkThrough(browser, await browser.open(authorizeUrl), person);
  if (typeof end === 'string') return end;
  throw new Error(`the sign-in stopped at a page with status ${end.status}: ${titleOf(end.html)}`);
}

/**
 * Types a device's code at the verification URL, signs in and consents (or refuses). Throws Error when the authorization server refuses the
 * code or the sign-in.
 */
export async function approveDevice(verificationUri: string, userCode: string, person: Person): Promise<void> {
  const browser = createBrowser(new URL(verificationUri).origin);
  const asked = await browser.open(verificationUri);
  if (typeof asked === 'string') throw new Error('the verification URL redirects to another page');
  const confirm = await submit(browser, asked, 'op.deviceInputForm', { user_code: userCode });
  if (typeof confirm === 'string' || !hasForm(confirm, 'op.deviceConfirmForm')) {
    throw new Error('the authorization server did not take the user code');
  }
  const end = await walkThrough(browser, await submit(browser, confirm, 'op.deviceConfirmForm', {}), person);
  const connected = typeof end !== 'string' && end.status === 200 && titleOf(end.html) === 'Device connected';
  if (!connected && person.deny !== true) throw new Error('the device was not connected');
}

/** Fills in sign-in and consent pages until neither is shown; returns the last page, or the URL outside the origin. */
async function walkThrough(browser: Browser, first: Page | string, person: Person): Promise<Page | string> {
  let page = first;
  for (let step = 0; step < MOST_STEPS && typeof page !== 'string'; step++) {
    if (hasForm(page, 'login')) {
      if (page.status === 401) return page;
      page = await submit(browser, page, 'login', { username: person.username, password: person.password });
    } else if (hasForm(page, 'consent')) {
      page = await decide(browser, page, person);
    } else {
      return page;
    }
  }
  return page;
}

function decide(browser: Browser, page: Page, person: Person): Promise<Page | string> {
  if (person.deny === true) return submit(browser, page, 'deny', {});
  const offered = [...page.html.matchAll(/type="checkbox" name="scope" value="([^"]*)"/g)].map(
    (match) => match[1] ?? '',
  );
  const ticked = offered.filter((scope) => person.scopes === undefined || person.scopes.includes(scope));
  return submit(browser, page, 'consent', { scope: ticked });
}

/** Posts a form of the page with its hidden fields and these values. */
function submit(
  browser: Browser,
  page: Page,
  formId: string,
  values: Record<string, string | readonly string[]>,
): Promise<Page | string> {
  const form = formOf(page, formId);
  const action = /action="([^"]*)"/.exec(form)?.[1];
  if (action === undefined) throw new Error(`the page has no form ${formId}`);
  const fields = new URLSearchParams();
  for (const [input] of form.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    fields.append(/name="([^"]*)"/.exec(input)?.[1] ?? '', /value="([^"]*)"/.exec(input)?.[1] ?? '');
  }
  for (const [name, value] of Object.entries(values)) {
    for (const one of typeof value === 'string' ? [value] : value) fields.append(name, one);
  }
  return browser.open(new URL(action, page.url).href, fields);
}

function hasForm(page: Page, formId: string): boolean {
  return page.html.includes(`<form id="${formId}"`);
}

function formOf(page: Page, formId: string): string {
  const start = page.html.indexOf(`<form id="${formId}"`);
  return start < 0 ? '' : page.html.slice(start, page.html.indexOf('</form>', start));
}

function titleOf(html: string): string {
  return /<title>([^<]*)<\/title>/.exec(html)?.[1] ?? 'untitled';
}

interface Browser {
  /** Opens or posts and follows redirects inside the origin; a URL outside the origin is returned without being opened. */
  open(url: string, form?: URLSearchParams): Promise<Page | string>;
}

/** A browser with an empty cookie jar that stays on one origin. */
function createBrowser(origin: string): Browser {
  const cookies = new Map<string, { value: string; path: string }>();

  function cookieHeader(path: string): string {
    const sent = [...cookies].filter(([, cookie]) => path.startsWith(cookie.path));
    return sent.map(([key, cookie]) => `${key.slice(0, key.indexOf(' '))}=${cookie.value}`).join('; ');
  }

  function keep(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/;\s*/);
      const name = pair.slice(0, pair.indexOf('='));
      const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/';
      cookies.set(`${name} ${path}`, { value: pair.slice(pair.indexOf('=') + 1), path });
    }
  }

  async function open(url: string, form?: URLSearchParams): Promise<Page | string> {
    let next = url;
    let body = form;
    for (let step = 0; step < MOST_STEPS; step++) {
      if (new URL(next).origin !== origin) return next;
      const response = await fetch(next, {
        method: body === undefined ? 'GET' : 'POST',
        redirect: 'manual',
        headers: { cookie: cookieHeader(new URL(next).pathname) },
        ...(body === undefined ? {} : { body }),
      });
      keep(response);
      const location = response.headers.get('location');
      const html = await response.text();
      if (location === null) return { url: next, html, status: response.status };
      next = new URL(location, next).href;
      body = undefined;
    }
    throw new Error('the authorization server redirects in circles');
  }

  return { open };
}
