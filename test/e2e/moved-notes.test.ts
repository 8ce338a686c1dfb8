// Tier: full. It runs a daemon with a CalDAV server and two simulated vendors.
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { DavHands } from '../connectors/caldav/dav-hands.ts';
import { firstAccount } from '../connectors/caldav/dav-target.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { runUntilInSync, start } from './support/daemons.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { RADICALE_USERS } from './support/small-targets.ts';
import { expectExact, type SmallWorld, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });
const NOTE = 'Bring the X-ray';

/** A practitioner in one kind of calendar: writes into the event at a time, and lists every note with the time of its event. */
interface Practitioner {
  annotate(startAt: number): Promise<void>;
  notes(): Promise<Map<number, string>>;
}

async function googleUser({ google }: SmallWorld, account: string): Promise<Practitioner> {
  const authorization = `Bearer ${google.issueAccessToken(account, { clientId: 'observer' })}`;
  const answer = await fetch(`${google.calendarApiUrl}/calendar/v3/users/me/calendarList`, {
    headers: { authorization },
  });
  const { items } = (await answer.json()) as { items: { id: string; summary: string }[] };
  const { id: calendar } = items.find(({ summary }) => summary.startsWith('Calendar of')) ?? { id: '' };
  const events = () =>
    google.events(calendar).map((event) => {
      const {
        id,
        start,
        description = '',
        attendees = [],
      } = event as typeof event & {
        start: { dateTime: string };
        description?: string;
        attendees?: { email: string }[];
      };
      return {
        id,
        at: Date.parse(start.dateTime),
        note: [description, ...attendees.map(({ email }) => email)].join(' '),
      };
    });
  return {
    async annotate(startAt) {
      const { id } = events().find(({ at }) => at === startAt)!;
      google.editByHand(calendar, id, { description: NOTE, attendees: [{ email: 'guest@example.org' }] });
    },
    notes: async () => new Map(events().flatMap(({ at, note }) => (note === '' ? [] : [[at, note]]))),
  };
}

async function outlookUser({ graph }: SmallWorld, account: string): Promise<Practitioner> {
  const { id: calendar } = graph.calendars(account).find(({ name }) => name.startsWith('Calendar of'))!;
  const events = () =>
    graph.events(account, calendar).map(({ id, start, body, categories }) => ({
      ...{ id, at: Date.parse(`${start.dateTime.slice(0, 19)}Z`) },
      note: [body?.content ?? '', ...categories].join(' ').trim(),
    }));
  return {
    async annotate(startAt) {
      const { id } = events().find(({ at }) => at === startAt)!;
      graph.editByHand(account, id, { body: { contentType: 'text', content: NOTE }, categories: ['Urgent'] });
    },
    notes: async () => new Map(events().flatMap(({ at, note }) => (note === '' ? [] : [[at, note]]))),
  };
}

async function davUser(): Promise<Practitioner> {
  const hands = new DavHands(firstAccount(radicale()));
  const events = async () =>
    (await hands.ownEvents()).map(({ path, event }) => ({
      ...{ path, at: (event.getFirstPropertyValue('dtstart') as { toJSDate(): Date }).toJSDate().getTime() },
      note: ['description', 'comment'].flatMap((name) => event.getFirstPropertyValue(name) ?? []).join(' '),
    }));
  return {
    async annotate(startAt) {
      const { path } = (await events()).find(({ at }) => at === startAt)!;
      await hands.change(path, (event) => {
        event.addPropertyWithValue('description', NOTE);
        event.addPropertyWithValue('comment', 'guest@example.org');
      });
    },
    notes: async () => new Map((await events()).flatMap(({ at, note }) => (note === '' ? [] : [[at, note]]))),
  };
}

const USERS = { caldav: davUser, 'google-calendar': googleUser, 'outlook-calendar': outlookUser };
/** What each practitioner's event shows. */
const SHOWN = {
  caldav: `${NOTE} guest@example.org`,
  'google-calendar': `${NOTE} guest@example.org`,
  'outlook-calendar': `${NOTE} Urgent`,
};

test.each(['caldav', 'google-calendar', 'outlook-calendar'] as const)(
  'a visit that the clinic moves by a new booking keeps what the practitioner wrote into its event: %s',
  async (family) => {
    const world = await useSmallWorld({
      ...{ redisUrl: redis.url, davServer: radicale(), targets: [family], appointments: 6 },
    });
    const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
    const agendaId = agendaIds[0] ?? '';
    const first = world.clinic.book(clinicId, { agendaId, patientId: 'pat0000001' });
    const second = world.clinic.book(clinicId, { agendaId, patientId: 'pat0000002' });
    await world.logIn();
    const daemon = start(world);
    await runUntilInSync(world, [daemon]);
    const user = await USERS[family](world, (world.targets[0] as SmallTarget).account);
    const rebook = ({ patientId, start: at }: typeof first) =>
      world.clinic.book(clinicId, { agendaId, patientId, start: at + 70 * DAY_MS });

    const waitForNote = (at: number) =>
      waitFor(
        async () => {
          await runUntilInSync(world, [daemon]);
          return (await user.notes()).has(at);
        },
        { what: 'the note in the event of the new booking' },
      );

    await user.annotate(first.start);
    world.clinic.cancel(clinicId, first.id);
    await runUntilInSync(world, [daemon]);
    expect(await user.notes()).toEqual(new Map());
    const moved = rebook(first);
    await waitForNote(moved.start);
    expect(await user.notes()).toEqual(new Map([[moved.start, SHOWN[family]]]));

    await user.annotate(second.start);
    const deleted = rebook(second);
    world.clinic.remove(clinicId, second.id, 'hard');
    await waitForNote(deleted.start);
    await runUntilInSync(world, [daemon]);
    expect(await user.notes()).toEqual(
      new Map([
        [moved.start, SHOWN[family]],
        [deleted.start, SHOWN[family]],
      ]),
    );
    await expectExact(world);
  },
);
