import type { DemoTarget, World } from '../../demo/world.ts';

/** A calendar that the daemon made, seen from outside. */
export interface RemoteCalendar {
  /** Ids or addresses of its events. */
  eventIds(): Promise<string[]>;
  remove(): Promise<void>;
}

/** The calendars that were made for a target. */
export function listCalendars(world: World, target: DemoTarget): Promise<RemoteCalendar[]> {
  return target.connector === 'caldav' ? caldavCalendars(world, target) : googleCalendars(world, target);
}

async function googleCalendars({ google, logins }: World, { tenant, target }: DemoTarget): Promise<RemoteCalendar[]> {
  const login = logins.find((each) => each.tenant === tenant && each.connection === target);
  if (login === undefined) throw new Error(`nobody logs in for ${target} of ${tenant}`);
  const authorization = `Bearer ${google.issueAccessToken(login.username)}`;
  const address = `${google.calendarApiUrl}/calendar/v3/users/me/calendarList?maxResults=250`;
  const list = (await (await fetch(address, { headers: { authorization } })).json()) as {
    items: { id: string; primary?: boolean }[];
  };
  return list.items
    .filter(({ primary }) => primary !== true)
    .map(({ id }) => ({
      eventIds: async () => google.events(id).map((event) => String(event.id)),
      remove: async () => google.deleteCalendar(id),
    }));
}

async function caldavCalendars({ radicale, env }: World, { tenant }: DemoTarget): Promise<RemoteCalendar[]> {
  if (radicale === null) return [];
  const home = `${radicale.url}/${tenant}/`;
  const authorization = `Basic ${Buffer.from(`${tenant}:${env.DAV_PASSWORD}`).toString('base64')}`;
  const members = async (url: string) => {
    const answer = await fetch(url, { method: 'PROPFIND', headers: { authorization, depth: '1' } });
    const hrefs = [...(await answer.text()).matchAll(/<(?:\w+:)?href>([^<]+)<\/(?:\w+:)?href>/g)];
    return new Set(
      hrefs.map(([, href]) => new URL(href ?? '', url).href).filter((member) => member.length > url.length),
    );
  };
  return [...(await members(home))].map((url) => ({
    eventIds: async () => [...(await members(url))],
    remove: async () => {
      await fetch(url, { method: 'DELETE', headers: { authorization } });
    },
  }));
}
