import ICAL from 'ical.js';
import { expect, onTestFinished } from 'vitest';
import type { CaldavSandbox } from '../../../sandbox/caldav/index.ts';
import type { Connector } from '../../../src/connectors/connector.ts';
import type { Operation, Outcome } from '../../../src/core/model/operations.ts';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';
import { createOperation, itemWith, keyOf, timed, written } from '../../contract/contract-kit.ts';
import { DavHands } from './dav-hands.ts';
import { firstAccount } from './dav-target.ts';
import { LOGIN, openOn, signal } from './scripted-server.ts';
import { openWays } from './server-ways.ts';

/** The credentials of the real servers. */
export const ME = [{ name: 'me', password: 'secret' }];

/** Lines that a user and their client add to an event. */
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

export async function open(): Promise<SandboxWorld> {
  const { sandbox, container, calendarPath, requests } = await openWays('standard');
  const hands = new DavHands({ url: sandbox.url, homePath: sandbox.homePath, login: LOGIN });
  const path = `${calendarPath}${keyOf('a')}.ics`;
  return { sandbox, connector: openOn({ container }), container, path, hands, requests };
}

/** A calendar on a real server. */
export async function openAt(server: PrivateDavServer, name: string): Promise<World> {
  const account = firstAccount(server);
  const hands = new DavHands(account);
  const calendarPath = `${account.homePath}${name}/`;
  await hands.createCalendar(calendarPath);
  onTestFinished(async () => void (await hands.send('DELETE', calendarPath)));
  const container = `${account.url}${calendarPath}`;
  return { connector: openOn({ container }), container, path: `${calendarPath}${keyOf('a')}.ics`, hands };
}

export async function apply({ connector, container }: World, operation: Operation): Promise<Outcome> {
  const [outcome] = await connector.apply(container, [operation], signal());
  return outcome!;
}

/** Adds the lines of a user. */
export async function add({ hands, path }: World, lines = [...ADDED, ...ALARM]): Promise<void> {
  const data = await (await hands.send('GET', path)).text();
  await hands.put(path, data.replace('END:VEVENT', `${lines.join('\r\n')}\r\nEND:VEVENT`));
}

export async function eventOf({ hands, path }: World): Promise<ICAL.Component> {
  return ICAL.Component.fromString(await (await hands.send('GET', path)).text()).getFirstSubcomponent('vevent')!;
}

/** Returns the foreign properties of the event, in the form of added lines. */
export async function addedTo(world: World): Promise<string[]> {
  const event = await eventOf(world);
  const names = new Set(ADDED.map((line) => line.split(/[;:]/)[0]!.toLowerCase()));
  const lines = event.getAllProperties().filter(({ name }) => names.has(name));
  return [...lines.map((one) => one.toICALString()), ...event.getAllSubcomponents().map(String)];
}

const start = (hour: number) =>
  timed(`2027-03-10T${hour}:00:00+01:00`, `2027-03-10T${hour}:30:00+01:00`, 'Europe/Rome');

/** Adds the lines of a user, and applies ten updates. */
export async function staysThroughTenUpdates(world: World): Promise<void> {
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
