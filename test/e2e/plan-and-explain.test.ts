import { expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { dumpRedis } from './support/dump-redis.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { useSmallWorld } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';

const redis = useRedis();
const CAREFUL = { vanished: { share: 0, count: 1 }, cancelled: { share: 1, count: 50 } };

test('a plan shows what a cycle would do and writes nothing anywhere', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url });
  const target = world.targets[0] as SmallTarget;
  const { clinicId } = world.tenants[0] as SmallTenant;
  const connection = redis.connect();
  const state = async () => withoutPassing(await dumpRedis(connection));

  const atFirst = await state();
  expect((await world.cli('plan', 'clinic-1')).out).toMatch(/ {2}\d+ to create · \d+ unchanged/);
  expect(target.proxy.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  expect(await state()).toEqual(atFirst);

  await world.cycle();
  const changes = world.clinic.simulate(clinicId, { booked: 2, moved: 2, cancelled: 2 });
  target.proxy.forget();
  const before = await state();
  const { code, out } = await world.cli('plan', 'clinic-1', '--json');
  expect(code).toBe(0);
  // What is gone from the clinic is planned when a second reading misses it.
  const planned = changes.filter(({ kind }) => kind !== 'removed');
  expect((JSON.parse(out) as { targets: { lines: unknown[] }[] }).targets[0]?.lines).toHaveLength(planned.length);
  expect(writesAt(target.proxy)).toEqual([]);
  expect(await state()).toEqual(before);

  const { id } = JSON.parse((await world.cli('plan', 'clinic-1', '--save', '--json')).out) as { id: string };
  // A record missed by one scan may exist: until the next scan the target is not known to be in sync.
  const shown = planned.length < changes.length ? /not in sync: .*\(next-cycle\)/ : /in sync/;
  expect((await world.cli('apply', 'clinic-1', id)).out).toMatch(shown);
  expect(writesAt(target.proxy)).not.toEqual([]);
  const again = await world.cli('apply', 'clinic-1', id);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('plan-drifted')]);
});

test('explain shows why an appointment is shown, removed, held or failing', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, target: { guard: CAREFUL } });
  const { clinicId } = world.tenants[0] as SmallTenant;
  await world.cycle();
  const tomorrow = world.clinic.clock() + 86_400_000;
  const visits = [...world.clinic.appointments(clinicId)].filter(
    ({ start, status, patientId }) => start > tomorrow && status === 'Booked' && patientId !== null,
  );
  const [shown, cancelled, removed, alsoRemoved] = visits;
  if (!shown || !cancelled || !removed || !alsoRemoved) throw new Error('the clinic has too few visits');
  world.clinic.cancel(clinicId, cancelled.id);
  world.clinic.remove(clinicId, removed.id, 'hard');
  world.clinic.remove(clinicId, alsoRemoved.id, 'hard');
  const failing = world.clinic.book(clinicId);
  world.google.faults.add({ match: { method: 'POST', path: '/events' }, fault: { kind: 'status', status: 400 } });
  await world.cycle();
  const explain = async ({ id }: Visit) => (await world.cli('explain', 'clinic-1', id)).out.replaceAll(/\s+/g, ' ');

  expect(await explain(shown)).toMatch(
    /clinic, \S+ \S+ booked, .* belongs here: the agenda and the status are shown in this target, .* starting .* named \S+/,
  );
  expect(await explain(cancelled)).toMatch(
    /clinic, \S+ \S+ cancelled, .*does not belong here: the target does not show the status cancelled .* nothing was written/,
  );
  expect(await explain(removed)).toMatch(
    /the appointment does not exist in the clinic .*does not belong here: .* on hold: removals of appointments that the clinic no longer shows \(\S+, open\) .* starting .* named \S+/,
  );
  expect(await explain(failing)).toMatch(
    / belongs here: .* nothing was written to be written \(new\): (failed \d+ times|waiting for a change or an administrator) \(/,
  );
  expect(await explain({ id: 'no-such-id' })).toMatch(
    /The clinic has no appointment with this id, and no target has an event, a change or a hold of it: check the id/,
  );
});

interface Visit {
  id: string;
}

/** Removes the entries that running processes write about themselves. */
function withoutPassing(dump: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...dump].filter(([key]) => !/:(lease|fence):|:budget|:processes$/.test(key)));
}
