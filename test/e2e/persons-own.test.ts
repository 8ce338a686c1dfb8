import ICAL from 'ical.js';
import { describe, expect, test } from 'vitest';
import { DavHands, eventOf } from '../connectors/caldav/dav-hands.ts';
import { firstAccount } from '../connectors/caldav/dav-target.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Family, RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MOVES = 10;

/** Settings that a user makes on an event, in addition to the written fields. */
interface Own {
  colour: unknown;
  reminder: unknown;
  note: unknown;
}

/** A user's actions on one event in the only calendar of a world. */
interface Hands {
  set(): Promise<unknown>;
  shown(): Promise<Own>;
}

const NOTE = 'Ring the bell twice';

/** For each family the colour and reminder that a target may set, which a user then changes. */
const PRESETS: Readonly<Record<Family, object>> = {
  'google-calendar': { labels: [{ colour: 'red' }], reminderMinutes: 15 },
  'outlook-calendar': { labels: [{ category: 'Visit' }], reminderMinutes: 15 },
  caldav: { labels: [{ colour: 'red', category: 'Visit' }], reminderMinutes: 15 },
};

const FAMILY_HANDS: [Family, (world: SmallWorld, recordId: string) => Promise<Hands>, Own][] = [
  ['google-calendar', handsInGoogle, { colour: '5', reminder: [{ method: 'popup', minutes: 25 }], note: NOTE }],
  ['outlook-calendar', handsInOutlook, { colour: ['Red'], reminder: 25, note: NOTE }],
  ['caldav', handsOnDavServer, { colour: 'gold', reminder: '-PT25M', note: NOTE }],
];

describe.each(FAMILY_HANDS)('%s: settings that a user made on an event', (family, handsIn, theirs) => {
  test.each([
    ['if the target sets neither', {}],
    ['instead of the target’s settings', PRESETS[family]],
  ])('stay through ten moves of the appointment, and are changed by no audit, %s', async (_, presets) => {
    const target = { audit: { drift: 'repair' }, fields: [], ...presets };
    const davServer = family === 'caldav' ? { davServer: radicale() } : {};
    const world = await useSmallWorld({ redisUrl: redis.url, target, targets: [family], ...davServer });
    const { clinicId, agendaIds } = world.tenants[0]!;
    const lastAt = Math.max(...[...world.clinic.appointments(clinicId)].map(({ end }) => end));
    const slot = (hours: number) => ({ agendaId: agendaIds[0] ?? '', start: lastAt + DAY_MS + hours * HOUR_MS });
    const { id } = world.clinic.book(clinicId, slot(0));
    await world.cycle();
    const hands = await handsIn(world, id);
    await hands.set();
    expect(await hands.shown()).toEqual(theirs);

    for (let move = 1; move <= MOVES; move += 1) {
      if (move === 5) expect(await changesByHand(world), `before move ${move}`).toEqual({ edited: 0, removed: 0 });
      world.clinic.move(clinicId, id, slot(move));
      await world.cycle();
      expect(await hands.shown(), `after move ${move}`).toEqual(theirs);
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
    set: async () => world.google.editByHand(container, id, { colorId: '5', reminders, description: NOTE }),
    shown: async () => {
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
    set: async () => world.graph.editByHand(account, find().id, changes),
    shown: async () => {
      const { categories, isReminderOn, reminderMinutesBeforeStart, body: shown } = find();
      return { colour: categories, reminder: isReminderOn && reminderMinutesBeforeStart, note: shown.content };
    },
  };
}

async function handsOnDavServer(world: SmallWorld, recordId: string): Promise<Hands> {
  const { identity } = await openedTarget(world);
  const hands = new DavHands(firstAccount(radicale()));
  const uid = identity.key(recordId, 0);
  const path = (await hands.ownEvents()).find(({ event }) => event.getFirstPropertyValue('uid') === uid)?.path ?? '';
  return {
    set: () =>
      hands.change(path, (event) => {
        event.updatePropertyWithValue('color', 'gold');
        event.updatePropertyWithValue('description', NOTE);
        event.removeAllSubcomponents('valarm');
        const alarm = new ICAL.Component('valarm');
        alarm.addPropertyWithValue('action', 'DISPLAY');
        alarm.addPropertyWithValue('description', 'Soon');
        alarm.addPropertyWithValue('trigger', ICAL.Duration.fromString('-PT25M'));
        event.addSubcomponent(alarm);
      }),
    async shown() {
      const event = eventOf(ICAL.Component.fromString(await (await hands.send('GET', path)).text()));
      const [alarm] = event.getAllSubcomponents('valarm');
      return {
        colour: event.getFirstPropertyValue('color'),
        reminder: alarm?.getFirstPropertyValue('trigger')?.toString(),
        note: event.getFirstPropertyValue('description'),
      };
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

/**
 * Returns the manual changes that an audit finds. The audit is repeated while the target pauses; the automatic cycle after it is left to
 * the test.
 */
async function changesByHand(world: SmallWorld) {
  const audit = async () => {
    const { code, out, err } = await world.cli('audit', 'clinic-1', '--json');
    expect({ code, err }).toMatchObject({ code: 0 });
    return (JSON.parse(out) as { targets: { drift: { edited: number; removed: number } | null }[] }).targets[0]?.drift;
  };
  const { edited, removed } = await waitFor(audit, { what: 'an audit of the target' });
  return { edited, removed };
}
