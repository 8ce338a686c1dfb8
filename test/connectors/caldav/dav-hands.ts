import ICAL from 'ical.js';

/** A server with one account, as a test uses it. */
export interface DavAccount {
  /** Without a slash at its end. */
  url: string;
  /** Where its calendars are, with a slash at its end. */
  homePath: string;
  /** Value of the header Authorization. */
  login: string;
}

/** A user with another client of the same account: plain requests that bypass every proxy. Paths are those of the server. */
export class DavHands {
  readonly #account: DavAccount;

  constructor(account: DavAccount) {
    this.#account = account;
  }

  async send(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Response> {
    const response = await this.#try(method, path, body, headers);
    if (!response.ok && response.status !== 404) throw new Error(`${method} by hand: ${response.status}`);
    return response;
  }

  put(path: string, data: string): Promise<Response> {
    return this.send('PUT', path, data, { 'content-type': 'text/calendar; charset=utf-8' });
  }

  /** Changes an object as a client does: reads and writes the complete object. */
  async change(path: string, edit: (event: ICAL.Component) => void): Promise<void> {
    const calendar = ICAL.Component.fromString(await (await this.send('GET', path)).text());
    edit(eventOf(calendar));
    await this.put(path, `${calendar.toString()}\r\n`);
  }

  /** Moves an object, to another calendar too; where the server can't, as a client does then. */
  async move(from: string, to: string): Promise<void> {
    const { url } = this.#account;
    const answer = await this.#try('MOVE', from, undefined, { destination: `${url}${to}` });
    if (answer.ok) return;
    const data = await (await this.send('GET', from)).text();
    await this.send('DELETE', from);
    await this.put(to, data);
  }

  async createCalendar(path: string): Promise<void> {
    await this.send('MKCALENDAR', path);
  }

  /** Paths of the account's calendars. */
  async calendars(): Promise<string[]> {
    const all = await this.#list(this.#account.homePath);
    return all.filter(({ isCalendar }) => isCalendar).map(({ path }) => path);
  }

  /** Paths of what is in a calendar. */
  async members(calendar: string): Promise<string[]> {
    return (await this.#list(calendar)).map(({ path }) => path).filter((path) => !path.endsWith('/'));
  }

  /** Returns every event of clinic-mirror in any calendar, with the path of its object. */
  async ownEvents(): Promise<{ path: string; event: ICAL.Component }[]> {
    const paths = (await Promise.all((await this.calendars()).map((calendar) => this.members(calendar)))).flat();
    const events: { path: string; event: ICAL.Component }[] = [];
    for (const path of paths) {
      const event = eventOf(ICAL.Component.fromString(await (await this.send('GET', path)).text()));
      if (event.hasProperty('x-clinic-mirror')) events.push({ path, event });
    }
    return events;
  }

  async #list(path: string): Promise<{ path: string; isCalendar: boolean }[]> {
    const body = '<D:propfind xmlns:D="DAV:"><D:prop><D:resourcetype/></D:prop></D:propfind>';
    const response = await this.send('PROPFIND', path, body, { depth: '1', 'content-type': 'application/xml' });
    if (response.status === 404) return [];
    const parts = (await response.text()).split(/<(?:[\w-]+:)?response[\s>]/).slice(1);
    return parts.map((part) => {
      const [, href = ''] = /<(?:[\w-]+:)?href>\s*([^<]*?)\s*</.exec(part) ?? [];
      return { path: new URL(href, this.#account.url).pathname, isCalendar: /<(?:[\w-]+:)?calendar[\s/>]/.test(part) };
    });
  }

  async #try(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Response> {
    const { url, login } = this.#account;
    return await fetch(`${url}${path}`, {
      method,
      // A server may close an idle connection at the moment of the next request.
      headers: { authorization: login, connection: 'close', ...headers },
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** The event of a calendar object. */
export function eventOf(calendar: ICAL.Component): ICAL.Component {
  const event = calendar.getFirstSubcomponent('vevent');
  if (event === null) throw new Error('no event in the object');
  return event;
}
