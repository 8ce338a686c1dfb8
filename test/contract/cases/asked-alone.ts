import { expect } from 'vitest';
import type { ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';
import { asMirrorError, MirrorError } from '../../../src/core/model/errors.ts';
import { type ContractCase, group } from '../contract-case.ts';
import {
  type AnyKit,
  type CalendarKit,
  createOperation,
  deleteOperation,
  failure,
  keyOf,
  signal,
  updateOperation,
} from '../contract-kit.ts';

/** An error for a whole batch is confirmed by one request per member before the connector believes it. */
export const askedAlone = group('asked alone', {
  'a batch with one refused member fails only for that member': oneRefused(422),
  'a batch answered as if the target were missing, because of one member, fails only for that member': oneRefused(404),
  'a missing member of a lookup by key is no missing target': async (kit) => {
    const [a] = await kit.create('a', 'b');
    const keys = ['a', 'absent', 'b', 'never'].map((recordId) => keyOf(recordId));
    const found = await kit.connector.find(kit.target.container, keys, signal());
    expect(found.map(({ key }) => key).sort()).toEqual([keyOf('a'), keyOf('b')].sort());
    expect(await kit.connector.find(kit.target.container, [keyOf('absent')], signal())).toEqual([]);
    const outcomes = await kit.attempt([
      deleteOperation('absent', null),
      updateOperation('a', kit.item('Changed'), null, a!.remoteId),
      updateOperation('never', kit.item('Changed'), null),
      kit.toCreate('new'),
    ]);
    expect(outcomes.map(({ result }) => result)).toEqual(['deleted', 'written', 'written', 'written']);
  },
  'an object that the server fails at is reported as unreadable, and hides no other': async (kit) => {
    const ids = Array.from({ length: 6 }, (_, index) => `r${index}`);
    await kit.create(...ids);
    const keys = ids.map((id) => keyOf(id));
    const stored = new Map(keys.map((key) => [key, null]));
    for (const damaged of ['r0', 'r4']) {
      failAt(kit, new RegExp(keyOf(damaged)));
      const found = await kit.connector.find(kit.target.container, keys, signal(), stored);
      kit.target.proxy.clear();
      expect(found.map(({ key }) => key).sort()).toEqual(keys.toSorted());
      expect(found.filter(({ unreadable }) => unreadable === true)).toMatchObject([
        { key: keyOf(damaged), item: null },
      ]);
    }
    failAt(kit, /./);
    await expect(kit.connector.find(kit.target.container, keys, signal(), stored)).rejects.toThrow(MirrorError);
    kit.target.proxy.clear();
  },
  'objects that are refused for a moment as if they were not there are not absent': async (kit) => {
    const { proxy, dialect, container } = kit.target;
    const ids = ['a', 'b', 'c', 'd'];
    await kit.create(...ids);
    if (dialect.hideObjects === undefined) {
      proxy.add({ method: /./, times: Number.POSITIVE_INFINITY, fault: refusal(404) });
    } else dialect.hideObjects();
    for (const asked of [ids, ids.slice(0, 1)]) {
      const found = await kit.connector
        .find(
          container,
          asked.map((id) => keyOf(id)),
          signal(),
        )
        .catch(asMirrorError);
      if (!(found instanceof MirrorError)) {
        // An unreadable object exists.
        expect(found.map(({ key, unreadable }) => [key, unreadable])).toEqual(asked.map((id) => [keyOf(id), true]));
      } else expect(found.code).not.toBe('calendar-gone');
    }
  },
});

/** The same of calendars, which can be gone. */
export const calendarAskedAlone = group<CalendarKit>('asked alone', {
  'a missing target is confirmed by a separate request': async (kit) => {
    const { proxy, server, container, dialect } = kit.target;
    await kit.create('a');
    proxy.add({ ...dialect.reads, times: Number.POSITIVE_INFINITY, fault: refusal(404) });
    const reading = await kit.readAll().then(
      () => null,
      (error: unknown) => error,
    );
    expect(reading === null || (reading as { code: string }).code !== 'calendar-gone', 'the calendar exists').toBe(
      true,
    );
    proxy.clear();
    await server.deleteContainer(container);
    const gone = { actor: 'settings', code: 'calendar-gone', retry: 'never' };
    await expect(kit.connector.apply(container, [createOperation('b')], signal())).rejects.toMatchObject(gone);
    await expect(kit.connector.find(container, [keyOf('a')], signal())).rejects.toMatchObject(gone);
    await expect(kit.readAll()).rejects.toMatchObject(gone);
  },
});

/** The server refuses any request that writes this record, and with it the whole batch. */
function oneRefused(status: number): ContractCase['run'] {
  return async (kit: AnyKit) => {
    const ids = Array.from({ length: 9 }, (_, index) => `r${index}`);
    const guilty = new RegExp(keyOf('r4'));
    kit.target.proxy.add({
      ...{ ...kit.target.dialect.writes, body: guilty },
      ...{ times: Number.POSITIVE_INFINITY, fault: refusal(status) },
    });
    const outcomes = await kit.attempt(ids.map((recordId) => kit.toCreate(recordId)));
    expect(outcomes.map(({ result }) => result)).toEqual(ids.map((id) => (id === 'r4' ? 'failed' : 'written')));
    expect(failure(outcomes[4]).concerns).toBe('item');
    kit.target.proxy.clear();
    expect(await kit.objects()).toHaveLength(8);
  };
}

/** The server fails at each request that names an object. */
export function failAt({ target: { proxy } }: AnyKit, named: RegExp): void {
  const always = { times: Number.POSITIVE_INFINITY, fault: refusal(500) };
  proxy.add({ url: named, ...always });
  proxy.add({ body: named, ...always });
}

function refusal(status: number): ProxyFault {
  return { kind: 'answer', answer: { status, headers: { 'content-type': 'application/json' }, body: '{}' } };
}
