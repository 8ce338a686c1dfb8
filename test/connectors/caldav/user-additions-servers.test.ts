// Tier: full. Starts Radicale, Xandikos and Cyrus IMAP.
import { describe, expect, test } from 'vitest';
import { createOperation, itemWith, keyOf, timed, written } from '../../contract/contract-kit.ts';
import { useCyrus, useXandikos } from '../../support/dav-servers.ts';
import { useRadicale } from '../../support/radicale.ts';
import { signal } from './scripted-server.ts';
import { apply, ME, openAt, staysThroughTenUpdates } from './user-additions.ts';

describe.each([
  ['Radicale', () => useRadicale({ users: ME })],
  ['Xandikos', () => useXandikos(ME)],
  ['Cyrus IMAP', () => useCyrus(ME)],
] as const)('at %s', (_name, use) => {
  const server = use();

  test('additions by a user are kept through ten updates, each of which is applied', async () => {
    await staysThroughTenUpdates(await openAt(server(), 'kept'));
  });

  test('an event without a length is created, changed and read unchanged', async () => {
    const world = await openAt(server(), 'at-once');
    const time = timed('2027-03-10T09:00:00+01:00', '2027-03-10T09:00:00+01:00', 'Europe/Rome');
    const { versionTag } = written(await apply(world, createOperation('a', itemWith({ time }))));
    const item = itemWith({ time, title: 'Changed' });
    const update = { ...createOperation('a', item), kind: 'update', versionTag, remoteId: null, revision: 2 } as const;
    written(await apply(world, update));
    expect(await world.connector.find(world.container, [keyOf('a')], signal())).toMatchObject([{ item }]);
  });
});
