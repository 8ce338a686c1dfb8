import { expect, onTestFinished, test } from 'vitest';
import { runLive } from '../../demo/live.ts';
import { bookThisWeek } from '../../demo/pages.ts';
import { startWorld } from '../../demo/world.ts';
import { waitFor } from '../support/wait-for.ts';

/** What a browser does with a form without fields of its own: it brings back its cookies, and says where the form stood. */
async function pressButtonAt(address: string): Promise<{ status: number; cookie: string }> {
  const page = await fetch(address);
  const [, action = address] = /<form[^>]* action="([^"]+)"/.exec(await page.text()) ?? [];
  const { origin } = new URL(address);
  const sent = await fetch(new URL(action, address), {
    method: 'POST',
    redirect: 'manual',
    headers: { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
  });
  return {
    status: sent.status,
    cookie: sent.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; '),
  };
}

test('a new visitor gets a URL, signs in with one click, and sees a booking appear in a calendar', async () => {
  const said: string[] = [];
  const pictures: string[] = [];
  const sizes = { appointmentsPerTenant: 12, agendasPerTenant: 2, patientsPerTenant: 4, pullEverySeconds: 10 };
  const world = await startWorld({ ...sizes, pages: true, notice: (text) => said.push(text) });
  const leaving = Promise.withResolvers<void>();
  const ended = runLive(world, {
    say: (text) => said.push(text),
    show: (picture) => pictures.push(picture),
    ...{ isOnScreen: false, leaves: leaving.promise },
  });
  onTestFinished(async () => {
    leaving.resolve();
    await ended.catch(() => {});
    await world.close();
  });

  const told = () => said.map((text) => /signed in by one click: (\S+)/.exec(text)?.[1]).find(Boolean);
  await waitFor(() => Promise.race([ended.then(() => true), told() !== undefined]), { what: 'a URL to open' });
  const signedIn = await pressButtonAt(told() ?? '');
  expect([signedIn.status, signedIn.cookie]).toEqual([303, expect.stringMatching(/=/)]);
  const look = async (path: string) => {
    const answer = await fetch(new URL(path, world.pagesUrl ?? ''), { headers: { cookie: signedIn.cookie } });
    return { status: answer.status, body: await answer.text() };
  };
  const overview = await look('/');
  expect(overview.status).toBe(200);
  expect(overview.body).toContain('Poliambulatorio Aurora');
  expect(overview.body).toContain('Studio Belvedere');

  const [shown] = world.targets;
  if (shown === undefined) throw new Error('the demonstration has no calendar');
  const visits = () => [...world.clinic.appointments(world.clinicTenants.get(shown.tenant) ?? '')];
  const before = new Set(visits().map(({ id }) => id));
  for (let count = 0; count < 3; count += 1) bookThisWeek(world, shown);
  /** The people of the demonstration may move or cancel any of them meanwhile, and book others. */
  const isNewOneShown = async () => {
    const times = new Set((await shown.read()).map(({ startAt }) => startAt));
    const written = visits().filter(
      ({ id, agendaId, start }) => !before.has(id) && shown.agendaIds.includes(agendaId) && times.has(start),
    );
    for (const { id, start } of written) {
      const day = new Date(start).toISOString().slice(0, 10);
      const { body } = await look(`/tenants/${shown.tenant}/targets/${shown.target}/week?from=${day}`);
      if (body.includes(id)) return true;
    }
    return false;
  };
  await waitFor(isNewOneShown, { what: 'a booking in the calendar', timeoutMs: 60_000, intervalMs: 500 });

  leaving.resolve();
  expect(await ended).toBe(0);
  expect(pictures.at(-1)).toContain('aurora');
});
