import { describe, expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import type { Family } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';
import { expectExact, useSmallWorld } from './support/use-small-world.ts';

const redis = useRedis();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MOVES = 10;

/** What a person sets on an event beside what we write. */
interface Own {
  colour: unknown;
  reminder: unknown;
  note: unknown;
}

/** A person at one event in the one calendar of a world. */
interface Hands {
  set(): void;
  shown(): Own;
}

const NOTE = 'Ring the bell twice';

describe.each<[Family, (world: SmallWorld, recordId: string) => Promise<Hands>, Own]>([
  ['google-calendar', handsInGoogle, { colour: '5', reminder: [{ method: 'popup', minutes: 25 }], note: NOTE }],
  ['outlook-calendar', handsInOutlook, { colour: ['Red'], reminder: 25, note: NOTE }],
])('%s: what a person set on an event', (family, handsIn, theirs) => {
  test('stays through ten moves of its appointment, and is put right by no audit', async () => {
    const target = { audit: { drift: 'repair' }, fields: [] };
    const world = await useSmallWorld({ redisUrl: redis.url, target, targets: [family] });
    const { clinicId, agendaIds } = world.tenants[0]!;
    const lastAt = Math.max(...[...world.clinic.appointments(clinicId)].map(({ end }) => end));
    const slot = (hours: number) => ({ agendaId: agendaIds[0] ?? '', start: lastAt + DAY_MS + hours * HOUR_MS });
    const { id } = world.clinic.book(clinicId, slot(0));
    await world.cycle();
    const hands = await handsIn(world, id);
    hands.set();
    expect(hands.shown()).toEqual(theirs);

    for (let move = 1; move <= MOVES; move += 1) {
      if (move === 5) expect(await changesByHand(world), `before move ${move}`).toEqual({ edited: 0, removed: 0 });
      world.clinic.move(clinicId, id, slot(move));
      await world.cycle();
      expect(hands.shown(), `after move ${move}`).toEqual(theirs);
    }
    await expectExact(world);

    const { proxy } = world.targets[0]!;
    proxy.forget();
    expect(await changesByHand(world)).toEqual({ edited: 0, removed: 0 });
    await world.cycle();
    expect(writesAt(proxy)).toEqual([]);
  });
});

async function handsInGoogle(world: SmallWorld, recordId: string): Promise<Hands> {
  const { container, identity } = await openedTarget(world);
  const id = identity.key(recordId, 0);
  const reminders = { useDefault: false, overrides: [{ method: 'popup', minutes: 25 }] };
  return {
    set: () => void world.google.editByHand(container, id, { colorId: '5', reminders, description: NOTE }),
    shown: () => {
      const event = world.google.event(container, id) as {
        colorId?: string;
        description?: string;
        reminders?: { overrides?: object[] };
      };
      return { colour: event.colorId, reminder: event.reminders?.overrides, note: event.description };
    },
  };
}

async function handsInOutlook(world: SmallWorld, recordId: string): Promise<Hands> {
  const { container, identity } = await openedTarget(world);
  const { account } = world.targets[0]!;
  const sealed = identity.sealedRecordId(recordId);
  const find = () => {
    const events = world.graph.events(account, container);
    return events.find(({ singleValueExtendedProperties }) =>
      singleValueExtendedProperties.some(({ value }) => value === sealed),
    )!;
  };
  const body = { contentType: 'text', content: NOTE };
  const changes = { categories: ['Red'], isReminderOn: true, reminderMinutesBeforeStart: 25, body };
  return {
    set: () => void world.graph.editByHand(account, find().id, changes),
    shown: () => {
      const { categories, isReminderOn, reminderMinutesBeforeStart, body: shown } = find();
      return { colour: categories, reminder: isReminderOn && reminderMinutesBeforeStart, note: shown.content };
    },
  };
}

/** The one target of a world, and the calendar that it writes to. */
async function openedTarget(world: SmallWorld) {
  const tenant = world.open().composed.get('clinic-1')?.tenant;
  const target = tenant?.targets.get(world.targets[0]?.target ?? '');
  if (tenant === undefined || target === undefined) throw new Error('the world has one target');
  const { container } = await tenant.targetStore.read(target.id);
  return { container: container ?? '', identity: target.identity };
}

/** As an operator finds them; the cycle that would follow by itself is left to the test. */
async function changesByHand(world: SmallWorld) {
  const { code, out, err } = await world.cli('audit', 'clinic-1', '--json');
  expect({ code, err }).toMatchObject({ code: 0 });
  const { targets } = JSON.parse(out) as { targets: { drift: { edited: number; removed: number } }[] };
  const { edited, removed } = targets[0]!.drift;
  return { edited, removed };
}
