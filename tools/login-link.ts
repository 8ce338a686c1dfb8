/** A browser's state after it opened a login link. */
export interface OpenedLink {
  /** Redirect URL: the provider's page. */
  authorizationUrl: string;
  /** The cookie as a request header. */
  cookie: string;
  /** The cookie with its attributes, as it came. */
  setCookie: string;
}

/** Opens the page of a login link and presses its button. @throws Error if there is no redirect */
export async function openLoginLink(link: string): Promise<OpenedLink> {
  await (await fetch(link)).text();
  const answer = await fetch(link, { method: 'POST', body: new URLSearchParams() });
  const page = await answer.text();
  const address = /<a href="([^"]+)"/.exec(page)?.[1];
  const [setCookie] = answer.headers.getSetCookie();
  if (address === undefined || setCookie === undefined) throw new Error(`The link answered ${answer.status}`);
  const [cookie = ''] = setCookie.split(';');
  return { authorizationUrl: address.replaceAll('&amp;', '&'), cookie, setCookie };
}
