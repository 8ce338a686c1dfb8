import ICAL from 'ical.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CaldavSandbox } from '../../../sandbox/caldav/index.ts';
import type { Connector } from '../../../src/connectors/connector.ts';
import type { Operation, Outcome } from '../../../src/model/operations.ts';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';
import { createOperation, deleteOperation, itemWith, keyOf, timed, written } from '../../contract/contract-kit.ts';
import { useCyrus, useXandikos } from '../../support/dav-servers.ts';
import { useRadicale } from '../../support/radicale.ts';
import { DavHands } from './dav-hands.ts';
import { firstAccount } from './dav-target.ts';
import { LOGIN, openOn, signal } from './scripted-server.ts';
import { openWays } from './server-ways.ts';

/** The login of the scripted servers. */
const ME = [{ name: 'me', password: 'secret' }];

/** What a person and their client put on an event. */
const ADDED = [
  'COLOR:turquoise',
  'CATEGORIES:Important,Private',
  'COMMENT:Bring the X-rays\\; call before',
  'ORGANIZER;CN=Doctor:mailto:doctor@example.org',
  'ATTENDEE;CN="Nurse; One";PARTSTAT=ACCEPTED:mailto:nurse@example.org',
  'X-APPLE-TRAVEL-DURATION;VALUE=DURATION:PT30M',
  'X-UNKNOWN;X-P="a:b":1;2,3',
];
const ALARM = ['BEGIN:VALARM', 'ACTION:DISPLAY', 'DESCRIPTION:Soon', 'TRIGGER:-PT15M', 'UID:alarm-1', 'END:VALARM'];

interface World {
  connector: Connector;
  container: string;
  path: string;
  hands: DavHands;
}

interface SandboxWorld extends World {
  sandbox: CaldavSandbox;
  requests: string[];
}

async function open(): Promise<SandboxWorld> {
  const { sandbox, container, calendarPath, requests } = await openWays('standard');
  const hands = new DavHands({ url: sandbox.url, homePath: sandbox.homePath, login: LOGIN });
  const path = `${calendarPath}${keyOf('a')}.ics`;
  return { sandbox, connector: openOn({ container }), container, path, hands, requests };
}

/** A calendar on a real server. */
async function openAt(server: PrivateDavServer, name: string): Promise<World> {
  const account = firstAccount(server);
  const hands = new DavHands(account);
  const calendarPath = `${account.homePath}${name}/`;
  await hands.createCalendar(calendarPath);
  onTestFinished(async () => void (await hands.send('DELETE', calendarPath)));
  const container = `${account.url}${calendarPath}`;
  return { connector: openOn({ container }), container, path: `${calendarPath}${keyOf('a')}.ics`, hands };
}

async function apply({ connector, container }: World, operation: Operation): Promise<Outcome> {
  const [outcome] = await connector.apply(container, [operation], signal());
  return outcome!;
}

/** A person adds what is theirs. */
async function add({ hands, path }: World, lines = [...ADDED, ...ALARM]): Promise<void> {
  const data = await (await hands.send('GET', path)).text();
  await hands.put(path, data.replace('END:VEVENT', `${lines.join('\r\n')}\r\nEND:VEVENT`));
}

async function eventOf({ hands, path }: World): Promise<ICAL.Component> {
  return ICAL.Component.fromString(await (await hands.send('GET', path)).text()).getFirstSubcomponent('vevent')!;
}

/** What the event has that is none of ours, in a form that an added line has too. */
async function addedTo(world: World): Promise<string[]> {
  const event = await eventOf(world);
  const names = new Set(ADDED.map((line) => line.split(/[;:]/)[0]!.toLowerCase()));
  const lines = event.getAllProperties().filter(({ name }) => names.has(name));
  return [...lines.map((one) => one.toICALString()), ...event.getAllSubcomponents().map(String)];
}

const start = (hour: number) =>
  timed(`2027-03-10T${hour}:00:00+01:00`, `2027-03-10T${hour}:30:00+01:00`, 'Europe/Rome');

/** A person adds, and ten updates follow. */
async function staysThroughTenUpdates(world: World): Promise<void> {
  let { versionTag } = written(await apply(world, createOperation('a')));
  await add(world);
  const added = await addedTo(world);
  // Some servers keep a list as several properties.
  expect(added.length).toBeGreaterThan(ADDED.length);
  for (let round = 1; round <= 10; round += 1) {
    const item = itemWith({ title: `Round ${round}`, time: start(10 + (round % 8)) });
    const update = { ...createOperation('a', item), kind: 'update', versionTag, remoteId: null } as const;
    ({ versionTag } = written(await apply(world, { ...update, revision: round + 1 })));
  }
  const event = await eventOf(world);
  expect(event.getFirstPropertyValue('summary')).toBe('Round 10');
  expect(event.getFirstPropertyValue('dtstart')?.toString()).toBe('2027-03-10T12:00:00');
  expect(await addedTo(world)).toEqual(added);
  const [item] = await world.connector.find(world.container, [keyOf('a')], signal());
  expect(item).toMatchObject({ versionTag, item: { title: 'Round 10' } });
}

describe.each([
  ['Radicale', () => useRadicale({ users: ME })],
  ['Xandikos', () => useXandikos(ME)],
  ['Cyrus IMAP', () => useCyrus(ME)],
] as const)('at %s', (_name, use) => {
  const server = use();

  test('what a person added to an event is there after ten updates, each of which is carried out', async () => {
    await staysThroughTenUpdates(await openAt(server(), 'kept'));
  });

  test('an event without a length is made, changed and read as it is', async () => {
    const world = await openAt(server(), 'at-once');
    const time = timed('2027-03-10T09:00:00+01:00', '2027-03-10T09:00:00+01:00', 'Europe/Rome');
    const { versionTag } = written(await apply(world, createOperation('a', itemWith({ time }))));
    const item = itemWith({ time, title: 'Changed' });
    const update = { ...createOperation('a', item), kind: 'update', versionTag, remoteId: null, revision: 2 } as const;
    written(await apply(world, update));
    expect(await world.connector.find(world.container, [keyOf('a')], signal())).toMatchObject([{ item }]);
  });
});

describe('what a person added to an event', () => {
  test('is there after ten updates, each of which is carried out', async () => {
    await staysThroughTenUpdates(await open());
  });

  test('is there after an update that goes by what an audit read', async () => {
    const world = await open();
    await apply(world, createOperation('a'));
    await add(world);
    const added = await addedTo(world);
    const [item] = await world.connector.find(world.container, [keyOf('a')], signal());
    // As it was: nothing of ours was touched.
    expect(item?.item).toEqual(itemWith());
    const update = { ...createOperation('a', itemWith({ title: 'New' })), kind: 'update', revision: 2 } as const;
    written(await apply(world, { ...update, versionTag: item!.versionTag, remoteId: item!.remoteId }));
    expect(await addedTo(world)).toEqual(added);
  });

  test('is there after the event was adopted', async () => {
    const world = await open();
    await apply(world, createOperation('a'));
    await add(world);
    const added = await addedTo(world);
    written(await apply(world, { ...createOperation('a', itemWith({ title: 'New' })), revision: 2 }));
    expect(await addedTo(world)).toEqual(added);
  });

  test('costs a look only where there is something to keep', async () => {
    const world = await open();
    const update = (versionTag: string | null, revision: number) =>
      ({
        ...createOperation('a', itemWith({ title: `${revision}` })),
        kind: 'update',
        versionTag,
        remoteId: null,
        revision,
      }) as const;
    let { versionTag } = written(await apply(world, createOperation('a')));
    world.requests.length = 0;
    for (const revision of [2, 3]) ({ versionTag } = written(await apply(world, update(versionTag, revision))));
    expect(world.requests).toEqual(['PUT', 'PUT']);
    await add(world);
    world.requests.length = 0;
    ({ versionTag } = written(await apply(world, update(versionTag, 4))));
    expect(world.requests).toEqual(['PUT', 'REPORT', 'PUT']);
    world.requests.length = 0;
    written(await apply(world, update(versionTag, 5)));
    expect(world.requests).toEqual(['REPORT', 'PUT']);
  });

  test('goes where it contradicts what is ours: a series, an event called off, other words for our own', async () => {
    const world = await open();
    const { versionTag } = written(await apply(world, createOperation('a')));
    const wrong = ['RRULE:FREQ=DAILY', 'STATUS:CANCELLED', 'X-ALT-DESC;FMTTYPE=text/html:<b>Name</b>', 'GEO:45.1;9.2'];
    await add(world, wrong);
    const update = { ...createOperation('a', itemWith({ title: 'New' })), kind: 'update', revision: 2 } as const;
    written(await apply(world, { ...update, versionTag, remoteId: null }));
    const event = await eventOf(world);
    for (const name of ['rrule', 'status', 'x-alt-desc', 'geo']) expect(event.hasProperty(name), name).toBe(false);
  });

  test('goes with an erasure', async () => {
    const world = await open();
    const { versionTag } = written(await apply(world, createOperation('a')));
    await add(world);
    const bodies = world.sandbox.recording;
    bodies.record(true);
    await apply(world, { ...deleteOperation('a', versionTag), erase: true });
    const puts = bodies.recorded().filter(({ method }) => method === 'PUT');
    expect(puts).toHaveLength(1);
    expect(String(puts[0]?.body)).not.toMatch(/X-rays|nurse|VALARM/);
  });
});
