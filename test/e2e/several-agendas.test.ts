import { expect, test } from 'vitest';
import type { ProxiedAnswer, ProxiedRequest } from '../../sandbox/kit/fault-proxy.ts';
import { status } from '../../src/operator/control/status.ts';
import { useRedis } from '../support/redis.ts';
import { runUntilInSync, start } from './support/daemons.ts';
import type { SmallTenant } from './support/small-configuration.ts';
import { type SmallWorld, useSmallWorld } from './support/small-world.ts';
import { useProfile } from './support/use-profile.ts';

const redis = useRedis();

const PROFILE = `
dateOrder: day-first
idCase: ignored
appointments:
  each: [agendaId]
  fields: { agendaId: [agendas] }
  filters: { agenda: null }
`;
const ONE = /\/appointments\/([^?/]+)/;

/** An appointment as the documented dialect sends it. */
interface Row {
  id: string;
  agendaId: string;
  start: string;
  end: string;
}

/** Every third appointment has a room in addition to its doctor. */
function agendasOf({ id, agendaId }: Pick<Row, 'id' | 'agendaId'>, all: readonly string[]): string[] {
  const isShared = [...id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 3 === 0;
  return isShared ? [agendaId, ...all.filter((other) => other !== agendaId)] : [agendaId];
}

/** `03/12/2026 09:30` of a time with an offset, `03/12/2026` of a date. */
function dayFirst(text: string): string {
  if (text.length === 10) return text.split('-').reverse().join('/');
  const local = { timeZone: 'Europe/Rome', dateStyle: 'short', timeStyle: 'short' } as const;
  const [date = '', time = ''] = new Intl.DateTimeFormat('en-CA', { ...local, hour12: false })
    .format(Date.parse(text))
    .split(', ');
  return `${date.split('-').reverse().join('/')} ${time}`;
}

/** Puts another clinic before the sandbox: lists of agendas, dates by day, ids of lists in capitals and of single records in small letters. */
function speakOtherwise({ clinic, clinicProxy }: SmallWorld, { clinicId, agendaIds }: SmallTenant): void {
  const translated = ({ agendaId, ...row }: Row, id: string) => ({
    ...row,
    ...{ id, agendas: agendasOf({ id: row.id, agendaId }, agendaIds) },
    ...{ start: dayFirst(row.start), end: dayFirst(row.end) },
  });
  const inItsCase = (request: ProxiedRequest): ProxiedRequest => {
    const [, asked = ''] = ONE.exec(request.url) ?? [];
    const own = [...clinic.appointments(clinicId)].find(({ id }) => id.toLowerCase() === asked.toLowerCase());
    return own === undefined ? request : { ...request, url: request.url.replace(asked, own.id) };
  };
  const answer = (given: ProxiedAnswer, { url }: ProxiedRequest): ProxiedAnswer => {
    if (given.status !== 200) return given;
    const body = JSON.parse(String(given.body));
    const said = ONE.test(url)
      ? translated(body, body.id.toLowerCase())
      : { ...body, data: body.data.map((row: Row) => translated(row, row.id.toUpperCase())) };
    return { ...given, body: JSON.stringify(said) };
  };
  clinicProxy.add({
    ...{ method: /^GET$/, url: /\/appointments\b/, times: Number.POSITIVE_INFINITY },
    fault: { kind: 'rewrite', request: inItsCase, answer },
  });
}

/** Every calendar shows exactly the appointments that have its agenda. */
async function expectEach(world: SmallWorld, { clinicId, agendaIds }: SmallTenant, when: string): Promise<void> {
  for (const { agendaIds: own, read, target } of world.targets) {
    const wanted = [...world.clinic.appointments(clinicId)].filter(
      (each) =>
        !each.deleted && each.status !== 'Cancelled' && own.some((id) => agendasOf(each, agendaIds).includes(id)),
    );
    const times = wanted.map(({ start: startAt, end: endAt, allDay }) => [allDay, startAt, endAt].join());
    const found = (await read()).map(({ startAt, endAt }) => [false, startAt, endAt].join());
    expect(found.sort(), `${target}, ${when}`).toEqual(times.sort());
  }
}

test('a clinic with lists of agendas, dates by day and ids of two cases is followed in each calendar', async () => {
  const world = await useSmallWorld({
    ...{ redisUrl: redis.url, targets: ['google-calendar', 'google-calendar'], appointments: 0 },
  });
  const tenant = world.tenants[0] as SmallTenant;
  const { clinicId, agendaIds } = tenant;
  for (let count = 0; count < 40; count += 1)
    world.clinic.book(clinicId, { agendaId: agendaIds[count % agendaIds.length] ?? '' });
  speakOtherwise(world, tenant);
  await useProfile(world, PROFILE);
  const daemon = start(world);
  await runUntilInSync(world, [daemon]);
  await expectEach(world, tenant, 'first sync');
  const shared = [...world.clinic.appointments(clinicId)].filter((each) => agendasOf(each, agendaIds).length > 1);
  expect(shared.length).toBeGreaterThan(3);

  // The list leaves cancelled appointments out, so that each is read alone.
  world.clinic.faults.add({ fault: { kind: 'hide-cancelled' } });
  world.clinicProxy.forget();
  world.clinic.simulate(clinicId, { booked: 6, moved: 8, cancelled: 4 });
  const [moved, cancelled, removed] = shared;
  world.clinic.move(clinicId, moved!.id);
  world.clinic.cancel(clinicId, cancelled!.id);
  world.clinic.remove(clinicId, removed!.id);
  // A vanished appointment is removed after the second scan that misses it.
  for (let cycles = 0; cycles < 2; cycles += 1) await runUntilInSync(world, [daemon]);
  await expectEach(world, tenant, 'after changes');
  expect(world.clinicProxy.requests.filter(({ url }) => ONE.test(url)).length).toBeGreaterThan(3);
  const { tenants, problems } = await status(world.open().installation);
  expect(problems).toEqual([]);
  expect(tenants[0]?.targets.map(({ sync, gaps }) => [sync, gaps])).toEqual([
    ['in-sync', []],
    ['in-sync', []],
  ]);
});
