import { expect } from 'vitest';
import type { Connector } from '../../../src/connectors/connector.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import { containerOf } from '../../support/container-of.ts';
import { group } from '../contract-case.ts';
import {
  type CalendarKit,
  createOperation,
  deleteOperation,
  describeOutcome,
  itemWith,
  keyOf,
  signal,
  updateOperation,
} from '../contract-kit.ts';

const NAME = 'Appointments';

/** The calendar itself: checked, made once, gone. */
export const containers = group<CalendarKit>('the calendar', {
  'an existing configured calendar is used': async (kit) => {
    expect(await containerOf(kit.connector, null, signal())).toBe(kit.target.container);
    expect(await containerOf(kit.connector, kit.target.container, signal())).toBe(kit.target.container);
  },
  'a configured calendar that is gone is a matter of settings': async (kit) => {
    await kit.target.server.deleteContainer(kit.target.container);
    const gone = { actor: 'settings', code: 'calendar-gone', retry: 'never' };
    await expect(containerOf(kit.connector, null, signal())).rejects.toMatchObject(gone);
    await expect(containerOf(kit.connector, kit.target.container, signal())).rejects.toMatchObject(gone);
  },
  'a managed calendar is created once and found again': async (kit) => {
    const before = await kit.target.server.containers();
    const container = await containerOf(kit.worker({ createCalendar: NAME }), null, signal());
    expect(await containerOf(kit.worker({ createCalendar: NAME }), null, signal())).toBe(container);
    expect(await containerOf(kit.worker({ createCalendar: NAME }), container, signal())).toBe(container);
    expect(before).not.toContain(container);
    expect(await kit.target.server.containers()).toHaveLength(before.length + 1);
    const [outcome] = await kit.worker({ createCalendar: NAME }).apply(container, [createOperation('a')], signal());
    expect(describeOutcome(outcome)).toBe('written created');
    expect(await kit.target.server.objects(container)).toHaveLength(1);
    expect((await kit.target.server.mails()) ?? 0).toBe(0);
  },
  'a calendar is found without creating one': async (kit) => {
    const find = (worker: Connector, storedId: string | null) => worker.prepare(storedId, { creates: false }, signal());
    expect(await find(kit.connector, null)).toBe(kit.target.container);
    const before = await kit.target.server.containers();
    const worker = kit.worker({ createCalendar: NAME });
    expect(await find(worker, null)).toBeNull();
    expect(await kit.target.server.containers()).toEqual(before);
    const container = await containerOf(worker, null, signal());
    expect(await find(worker, null)).toBe(container);
    expect(await find(worker, container)).toBe(container);
    await kit.target.server.deleteContainer(container);
    expect(await find(worker, container)).toBeNull();
    expect(await kit.target.server.containers()).toEqual(before);
  },
  'a managed calendar is created once if the answer is lost': async (kit) => {
    const before = await kit.target.server.containers();
    const worker = kit.worker({ createCalendar: NAME });
    kit.target.proxy.add({ method: /^(POST|MKCALENDAR|MKCOL)$/, fault: { kind: 'lost-answer' } });
    const lost = await containerOf(worker, null, signal()).catch((error: MirrorError) => error);
    expect(lost).toMatchObject({ actor: 'remote', retry: 'later' });
    await containerOf(worker, null, signal());
    expect(await kit.target.server.containers()).toHaveLength(before.length + 1);
  },
  'two workers that prepare at once agree on one calendar': async (kit) => {
    const [one, other] = [kit.worker({ createCalendar: NAME }), kit.worker({ createCalendar: NAME })];
    await Promise.all([containerOf(one, null, signal()), containerOf(other, null, signal())]);
    const agreed = await Promise.all([containerOf(one, null, signal()), containerOf(other, null, signal())]);
    expect(agreed[0]).toBe(agreed[1]);
  },
  'a managed calendar that a user deleted is recreated': async (kit) => {
    const worker = kit.worker({ createCalendar: NAME });
    const first = await containerOf(worker, null, signal());
    await kit.target.server.deleteContainer(first);
    const second = await containerOf(worker, first, signal());
    expect(await kit.target.server.containers()).toContain(second);
    const [outcome] = await worker.apply(second, [createOperation('a')], signal());
    expect(describeOutcome(outcome)).toBe('written created');
  },
  'two targets with managed calendars do not share one': async (kit) => {
    const mine = await containerOf(kit.worker({ createCalendar: NAME }), null, signal());
    const theirs = await containerOf(
      kit.worker({ createCalendar: NAME, ownerTag: 'othertargetmark0' }),
      null,
      signal(),
    );
    expect(theirs).not.toBe(mine);
  },
  'all writes to a calendar that is gone end in one error of the whole target, deletes too': async (kit) => {
    const created = await kit.create('a', 'b', 'c');
    const [a, b] = created;
    await kit.target.server.deleteContainer(kit.target.container);
    const work = [
      createOperation('new'),
      updateOperation('a', itemWith({ title: 'Changed' }), a!.versionTag),
      deleteOperation('b', b!.versionTag),
      deleteOperation('c', null),
    ].slice(0, kit.target.supports.batchSize);
    const gone = { actor: 'settings', code: 'calendar-gone', retry: 'never' };
    await expect(kit.connector.apply(kit.target.container, work, signal())).rejects.toMatchObject(gone);
    const deletion = [deleteOperation('b', b!.versionTag)];
    await expect(kit.connector.apply(kit.target.container, deletion, signal())).rejects.toMatchObject(gone);
  },
  'reading and finding in a calendar that is gone are errors, not emptiness': async (kit) => {
    await kit.create('a');
    await kit.target.server.deleteContainer(kit.target.container);
    const gone = { actor: 'settings', code: 'calendar-gone' };
    await expect(kit.readAll()).rejects.toMatchObject(gone);
    await expect(kit.connector.find(kit.target.container, [keyOf('a')], signal())).rejects.toMatchObject(gone);
  },
});
