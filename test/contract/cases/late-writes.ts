import { expect } from 'vitest';
import { matches } from '../../../sandbox/kit/fault-proxy.ts';
import { group } from '../contract-case.ts';
import {
  type AnyKit,
  deleteOperation,
  describeOutcome,
  keyOf,
  signal,
  updateOperation,
  written,
} from '../contract-kit.ts';

/** Resolves when a write has come as far as the proxy. */
async function held({ target: { proxy, dialect } }: Pick<AnyKit, 'target'>): Promise<void> {
  await expect.poll(() => proxy.requests.some((request) => matches(dialect.writes, request))).toBe(true);
}

/** Returns the outcome of an update that was delayed while another worker wrote a newer one. */
async function overtakenUpdate(kit: AnyKit) {
  const [created] = await kit.create('a');
  const { remoteId, versionTag } = created!;
  const gate = Promise.withResolvers<void>();
  kit.target.proxy.forget();
  kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'hold', until: gate.promise } });
  const older = { ...updateOperation('a', kit.item('Older'), versionTag, remoteId), revision: 2 };
  const late = kit.attempt([older], kit.worker());
  await held(kit);
  const newer = { ...updateOperation('a', kit.item('Newer'), versionTag, remoteId), revision: 3 };
  written((await kit.deliver([newer]))[0]);
  gate.resolve();
  return (await late)[0];
}

/** Writes of a worker that lost its lease in mid-call, and answers that never came. */
export const lateWrites = group('late writes', {
  'what is read carries the revision of the write that made it so': async (kit) => {
    const [created] = await kit.create('a');
    const update = { ...updateOperation('a', kit.item('Newer'), created!.versionTag, created!.remoteId), revision: 7 };
    written((await kit.attempt([update]))[0]);
    expect((await kit.readAll()).map(({ revision }) => revision)).toEqual([7]);
    expect(await kit.connector.find(kit.target.container, [keyOf('a')], signal())).toMatchObject([{ revision: 7 }]);
  },
  'an older create, update or delete does not change a later write': async (kit) => {
    const [created] = await kit.create('a');
    const { remoteId, versionTag } = created!;
    const newer = { ...updateOperation('a', kit.item('Newer'), versionTag, remoteId), revision: 9 };
    written((await kit.attempt([newer]))[0]);
    const before = await kit.objects();
    const late = [
      { ...kit.toCreate('a', kit.item('Older')), revision: 8 },
      { ...updateOperation('a', kit.item('Older'), versionTag, remoteId), revision: 8 },
      { ...updateOperation('a', kit.item('Older'), null, remoteId), revision: 8 },
      { ...deleteOperation('a', null, remoteId), revision: 8 },
    ];
    for (const operation of late) {
      const [outcome] = await kit.attempt([operation]);
      expect(outcome).toMatchObject({ recordId: 'a', result: 'superseded', revision: 9, remote: { revision: 9 } });
    }
    expect(await kit.objects()).toEqual(before);
    const [erased] = await kit.deliver([{ ...deleteOperation('a', null, remoteId), revision: 8, erase: true }]);
    expect(erased?.result).toBe('deleted');
    expect(await kit.objects()).toEqual([]);
  },
  'a create that arrives after the deletion of its record is found by its key, and can be deleted': async (kit) => {
    const gate = Promise.withResolvers<void>();
    kit.target.proxy.forget();
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'hold', until: gate.promise } });
    const late = kit.attempt([kit.toCreate('a')], kit.worker());
    await held(kit);
    const [gone] = await kit.deliver([deleteOperation('a', null)]);
    expect(describeOutcome(gone)).toBe('deleted already-gone');
    gate.resolve();
    await late;
    const [ghost] = await kit.connector.find(kit.target.container, [keyOf('a')], signal());
    expect(ghost?.key).toBe(keyOf('a'));
    await kit.deliver([{ ...deleteOperation('a', ghost!.versionTag, ghost!.remoteId), revision: 2 }]);
    expect(await kit.objects()).toEqual([]);
  },
});

/** Calendars refuse a late write by its version tag. */
export const calendarLateWrites = group('late writes', {
  'a delayed update does not overwrite another worker’s newer write': async (kit) => {
    expect(await overtakenUpdate(kit)).toMatchObject({ result: 'superseded', revision: 3 });
    expect((await kit.object('a')).title).toBe('Newer');
  },
});

/** A CRM may take a late write. */
export const crmLateWrites = group('late writes', {
  'a delayed update is refused, or detected by its revision': async (kit) => {
    const outcome = await overtakenUpdate(kit);
    const [found] = await kit.connector.find(kit.target.container, [keyOf('a')], signal());
    const { title } = await kit.object('a');
    const gaveWay = outcome?.result === 'superseded';
    expect({ title, revision: found?.revision }).toEqual(
      gaveWay ? { title: 'Newer', revision: 3 } : { title: 'Older', revision: 2 },
    );
  },
});
