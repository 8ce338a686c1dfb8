/** What a browser has once it opened the link of a login. */
export interface OpenedLink {
  /** Where it goes on: the provider's page. */
  authorizationUrl: string;
  /** Its cookie, as it is sent back. */
  cookie: string;
  /** The cookie with its attributes, as it came. */
  setCookie: string;
}

/** Does what a person does with the link of a login: opens the page and presses its button. Throws Error when that leads nowhere. */
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
