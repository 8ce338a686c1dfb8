import { expect } from 'vitest';
import type { ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';
import type { Item } from '../../../src/core/model/items.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { type AnyKit, deleteOperation, describeOutcome, failure, updateOperation } from '../contract-kit.ts';

/** Requests of a lookup for all creates of a call, and of reading the objects found. */
const LOOK_FOR_ALL = 4;

/** The connection breaks, before or after the server did the work; the same operation is sent again with the same key. */
export const lostAnswers = group('lost answers', {
  'a create whose answer is lost after the server did it ends as one object': lostCreate({ kind: 'lost-answer' }),
  'a create that is lost before the server saw it ends as one object': lostCreate({ kind: 'cut' }),
  'a create whose answer breaks off ends as one object': lostCreate({ kind: 'cut-body' }),
  'an update whose answer is lost after the server did it results in the new content': lostUpdate({
    kind: 'lost-answer',
  }),
  'an update that is lost before the server received it results in the new content': lostUpdate({ kind: 'cut' }),
  'a delete whose answer is lost after the server did it ends without the object': lostDelete({ kind: 'lost-answer' }),
  'a delete that is lost before the server received it ends without the object': lostDelete({ kind: 'cut' }),
  'a create whose answer does not come in time ends as one object': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'stall' } });
    const [lost] = await kit.attempt([kit.toCreate('a')], kit.worker({ timeoutMs: 300 }));
    expect(failure(lost)).toMatchObject({ actor: 'remote', retry: 'later', ambiguous: true });
    await expectOneAfter(kit, kit.toCreate('a'), 'written adopted');
  },
  'a lost answer to many creates is settled by their keys within the request budget': async (kit) => {
    const { dialect, proxy, supports } = kit.target;
    const n = Math.min(supports.batchSize, 50);
    const operations = Array.from({ length: n }, (_, index) => kit.toCreate(`r${index}`));
    proxy.add({ ...dialect.writes, fault: { kind: 'lost-answer' } });
    const outcomes = await kit.deliver(operations);
    expect(outcomes.every((outcome) => outcome.result === 'written')).toBe(true);
    expect(await kit.objects()).toHaveLength(n);
    expect(proxy.requests.length).toBeLessThanOrEqual(dialect.requestsForRetriedCreates(n));
  },
  'after a crash, unconfirmed creates cost one lookup for all, and none for each': async (kit) => {
    const { dialect, proxy } = kit.target;
    const unconfirmed = Array.from({ length: 20 }, (_, index) => ({ ...kit.toCreate(`r${index}`), mayExist: true }));
    // Half of the creates arrived before the crash.
    await kit.attempt(unconfirmed.slice(0, 10));
    const worker = kit.worker();
    proxy.forget();
    const outcomes = await kit.attempt(unconfirmed, worker);
    const effects = outcomes.map(describeOutcome);
    expect(effects).toEqual(unconfirmed.map((_, index) => (index < 10 ? 'written adopted' : 'written created')));
    expect(proxy.requests.length).toBeLessThanOrEqual(dialect.requestsForCreates(20) + LOOK_FOR_ALL);
  },
  'after a crash another worker sends the same create again and finds the first': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'lost-answer' } });
    await kit.attempt([kit.toCreate('a')]);
    const [outcome] = await kit.attempt([kit.toCreate('a')], kit.worker());
    expect(describeOutcome(outcome)).toBe('written adopted');
    expect(await kit.objects()).toHaveLength(1);
  },
  'a create whose answer is lost ends as one object, however late searches are, once the time is over that keys need':
    async (kit) => {
      const { keys } = kit.target.supports;
      const { search } = kit.target;
      expect(keys === 'enforced' || search !== undefined, 'a target that looks keys up can be made to lag').toBe(true);
      const lagMs = keys === 'enforced' ? 0 : keys.lookedUp.lagMs;
      search?.lag(keys === 'enforced' ? HOUR_MS : lagMs);
      kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'lost-answer' } });
      await kit.attempt([kit.toCreate('a')]);
      search?.pass(lagMs);
      const [outcome] = await kit.attempt([kit.toCreate('a')], kit.worker());
      expect(describeOutcome(outcome)).toBe('written adopted');
      expect(await kit.objects()).toHaveLength(1);
    },
  'after a crash before the answers were noted the whole work is repeated without harm': async (kit) => {
    const [a, b] = await kit.create('a', 'b');
    const work: Operation<Item>[] = [
      kit.toCreate('c'),
      updateOperation('a', kit.item('Changed'), a!.versionTag),
      deleteOperation('b', b!.versionTag),
    ];
    await kit.attempt(work);
    const again = await kit.attempt(work, kit.worker());
    expect(again.map(describeOutcome)).toEqual(['written adopted', 'written updated', 'deleted already-gone']);
    expect((await kit.objects()).map((object) => object.title).sort()).toEqual(['Appointment', 'Changed']);
  },
  'a repeated create with newer content results in the newer content': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'lost-answer' } });
    await kit.attempt([kit.toCreate('a')]);
    await expectOneAfter(kit, kit.toCreate('a', kit.item('Changed')), 'written adopted');
    expect((await kit.object('a')).title).toBe('Changed');
  },
});

function lostCreate(fault: ProxyFault): ContractCase['run'] {
  return async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault });
    const [lost] = await kit.attempt([kit.toCreate('a')]);
    expect(failure(lost)).toMatchObject({ actor: 'remote', retry: 'later', ambiguous: true });
    await expectOneAfter(kit, kit.toCreate('a'), fault.kind === 'cut' ? 'written created' : 'written adopted');
  };
}

function lostUpdate(fault: ProxyFault): ContractCase['run'] {
  return async (kit) => {
    const [created] = await kit.create('a');
    const update = updateOperation('a', kit.item('Changed'), created!.versionTag);
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault });
    expect(failure((await kit.attempt([update]))[0])).toMatchObject({ retry: 'later', ambiguous: true });
    await expectOneAfter(kit, update, 'written updated');
    expect((await kit.object('a')).title).toBe('Changed');
  };
}

function lostDelete(fault: ProxyFault): ContractCase['run'] {
  return async (kit) => {
    const [created] = await kit.create('a');
    const operation = deleteOperation('a', created!.versionTag);
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault });
    expect(failure((await kit.attempt([operation]))[0])).toMatchObject({ retry: 'later', ambiguous: true });
    const [outcome] = await kit.attempt([operation]);
    expect(describeOutcome(outcome)).toBe(fault.kind === 'cut' ? 'deleted deleted' : 'deleted already-gone');
    expect(await kit.objects()).toEqual([]);
  };
}

async function expectOneAfter(kit: AnyKit, operation: Operation<Item>, effect: string): Promise<void> {
  const [outcome] = await kit.attempt([operation]);
  expect(describeOutcome(outcome)).toBe(effect);
  expect(await kit.objects()).toHaveLength(1);
}
