import { expect } from 'vitest';
import type { MirrorError } from '../../../src/model/errors.ts';
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
    expect(await kit.connector.prepare(null, signal())).toBe(kit.target.container);
    expect(await kit.connector.prepare(kit.target.container, signal())).toBe(kit.target.container);
  },
  'a configured calendar that is gone is a matter of settings': async (kit) => {
    await kit.target.server.deleteContainer(kit.target.container);
    const gone = { actor: 'settings', code: 'calendar-gone', retry: 'never' };
    await expect(kit.connector.prepare(null, signal())).rejects.toMatchObject(gone);
    await expect(kit.connector.prepare(kit.target.container, signal())).rejects.toMatchObject(gone);
  },
  'a managed calendar is created once and found again': async (kit) => {
    const before = await kit.target.server.containers();
    const container = await kit.worker({ createCalendar: NAME }).prepare(null, signal());
    expect(await kit.worker({ createCalendar: NAME }).prepare(null, signal())).toBe(container);
    expect(await kit.worker({ createCalendar: NAME }).prepare(container, signal())).toBe(container);
    expect(before).not.toContain(container);
    expect(await kit.target.server.containers()).toHaveLength(before.length + 1);
    const [outcome] = await kit.worker({ createCalendar: NAME }).apply(container, [createOperation('a')], signal());
    expect(describeOutcome(outcome)).toBe('written created');
    expect(await kit.target.server.objects(container)).toHaveLength(1);
    expect((await kit.target.server.mails()) ?? 0).toBe(0);
  },
  'a managed calendar is created once if the answer is lost': async (kit) => {
    const before = await kit.target.server.containers();
    const worker = kit.worker({ createCalendar: NAME });
    kit.target.proxy.add({ method: /^(POST|MKCALENDAR|MKCOL)$/, fault: { kind: 'lost-answer' } });
    const lost = await worker.prepare(null, signal()).catch((error: MirrorError) => error);
    expect(lost).toMatchObject({ actor: 'remote', retry: 'later' });
    await worker.prepare(null, signal());
    expect(await kit.target.server.containers()).toHaveLength(before.length + 1);
  },
  'two workers that prepare at once agree on one calendar': async (kit) => {
    const [one, other] = [kit.worker({ createCalendar: NAME }), kit.worker({ createCalendar: NAME })];
    await Promise.all([one.prepare(null, signal()), other.prepare(null, signal())]);
    const agreed = await Promise.all([one.prepare(null, signal()), other.prepare(null, signal())]);
    expect(agreed[0]).toBe(agreed[1]);
  },
  'a managed calendar that a user deleted is recreated': async (kit) => {
    const worker = kit.worker({ createCalendar: NAME });
    const first = await worker.prepare(null, signal());
    await kit.target.server.deleteContainer(first);
    const second = await worker.prepare(first, signal());
    expect(await kit.target.server.containers()).toContain(second);
    const [outcome] = await worker.apply(second, [createOperation('a')], signal());
    expect(describeOutcome(outcome)).toBe('written created');
  },
  'two targets with managed calendars do not share one': async (kit) => {
    const mine = await kit.worker({ createCalendar: NAME }).prepare(null, signal());
    const theirs = await kit.worker({ createCalendar: NAME, ownerTag: 'othertargetmark0' }).prepare(null, signal());
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
