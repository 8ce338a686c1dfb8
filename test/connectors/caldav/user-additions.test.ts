import { describe, expect, test } from 'vitest';
import { createOperation, deleteOperation, itemWith, keyOf, written } from '../../contract/contract-kit.ts';
import { signal } from './scripted-server.ts';
import { add, addedTo, apply, eventOf, open, staysThroughTenUpdates } from './user-additions.ts';

describe('additions of a user to an event', () => {
  test('are kept through ten updates, each of which is applied', async () => {
    await staysThroughTenUpdates(await open());
  });

  test('are kept after an update that uses the data of an audit', async () => {
    const world = await open();
    await apply(world, createOperation('a'));
    await add(world);
    const added = await addedTo(world);
    const [item] = await world.connector.find(world.container, [keyOf('a')], signal());
    // The audit finds the managed fields unchanged.
    expect(item?.item).toEqual(itemWith());
    const update = { ...createOperation('a', itemWith({ title: 'New' })), kind: 'update', revision: 2 } as const;
    written(await apply(world, { ...update, versionTag: item!.versionTag, remoteId: item!.remoteId }));
    expect(await addedTo(world)).toEqual(added);
  });

  test('are kept after the event was adopted', async () => {
    const world = await open();
    await apply(world, createOperation('a'));
    await add(world);
    const added = await addedTo(world);
    written(await apply(world, { ...createOperation('a', itemWith({ title: 'New' })), revision: 2 }));
    expect(await addedTo(world)).toEqual(added);
  });

  test('cost a check only if additions exist', async () => {
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

  test('are removed if they contradict the data of the clinic: a series, a cancelled event, a changed text of clinic-mirror', async () => {
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
