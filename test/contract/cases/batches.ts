import { expect } from 'vitest';
import type { Item } from '../../../src/core/model/items.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
import { paced } from '../../support/pace.ts';
import { group } from '../contract-case.ts';
import { deleteOperation, describeOutcome, failure, updateOperation } from '../contract-kit.ts';

/** Many operations in one call: each has its own outcome. */
export const batches = group('many operations', {
  'creates, updates and deletes go together, each with its outcome': async (kit) => {
    const [a, b] = await kit.create('a', 'b', 'gone');
    await kit.target.server.deleteByHand((await kit.object('gone')).remoteId);
    await kit.target.server.editByHand((await kit.object('b')).remoteId, { title: 'By hand' });
    const outcomes = await kit.attempt([
      kit.toCreate('new'),
      updateOperation('a', kit.item('Changed'), a!.versionTag),
      updateOperation('b', kit.item('Changed'), b!.versionTag),
      deleteOperation('gone', null),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual([
      'written created',
      'written updated',
      'written updated',
      'deleted already-gone',
    ]);
    expect((await kit.objects()).map((object) => object.title).sort()).toEqual(['Appointment', 'Changed', 'Changed']);
  },
  'a permanently refused operation does not affect the others': async (kit) => {
    const poison = kit.target.dialect.poison(kit.toCreate('poison'));
    const outcomes = await kit.attempt([kit.toCreate('a'), poison, kit.toCreate('b')]);
    expect(outcomes.map((outcome) => outcome.result)).toEqual(['written', 'failed', 'written']);
    expect(failure(outcomes[1])).toMatchObject({ retry: 'never', ambiguous: false });
    expect(['contract', 'settings']).toContain(failure(outcomes[1]).actor);
    expect(await kit.objects()).toHaveLength(2);
  },
  'a temporarily failed operation is retried, and no other is': async (kit) => {
    const created = await kit.create('a', 'b', 'c');
    const operations = ['a', 'b', 'c'].map((id, index) =>
      updateOperation(id, kit.item('Changed'), created[index]!.versionTag),
    );
    kit.target.dialect.failOnce(operations[1]!);
    const outcomes = await kit.attempt(operations);
    expect(outcomes.map((outcome) => outcome.result)).toEqual(['written', 'failed', 'written']);
    expect(failure(outcomes[1])).toMatchObject({ actor: 'remote', retry: 'later' });
    expect(describeOutcome((await kit.attempt([operations[1]!]))[0])).toBe('written updated');
    expect((await kit.objects()).map((object) => object.title)).toEqual(['Changed', 'Changed', 'Changed']);
  },
  'an operation whose own answer is missing failed ambiguously and ends well when sent again': async (kit) => {
    const operations = ['a', 'b', 'c'].map((recordId) => kit.toCreate(recordId));
    required(kit.target.dialect, 'dropAnswerOf')(operations[1]!);
    const outcomes = await kit.attempt(operations);
    expect(outcomes.map((outcome) => outcome.result)).toEqual(['written', 'failed', 'written']);
    expect(failure(outcomes[1])).toMatchObject({ actor: 'remote', retry: 'later', ambiguous: true });
    expect(describeOutcome((await kit.attempt([operations[1]!]))[0])).toBe('written adopted');
    expect(await kit.objects()).toHaveLength(3);
  },
  'answers in another order reach their own operations': async (kit) => {
    const [b] = await kit.create('b');
    required(kit.target.dialect, 'reverseAnswers')();
    const poison = kit.target.dialect.poison(kit.toCreate('poison'));
    const operations: Operation<Item>[] = [kit.toCreate('a'), poison, deleteOperation('b', b!.versionTag)];
    const outcomes = await kit.attempt(operations);
    expect(outcomes.map((outcome) => outcome.result)).toEqual(['written', 'failed', 'deleted']);
    expect((await kit.objects()).map((object) => object.sealedRecordId)).toEqual([kit.toCreate('a').sealedRecordId]);
  },
  'a server that takes fewer operations at once is met': async (kit) => {
    required(kit.target.dialect, 'lowerBatchLimit')(7);
    const operations = Array.from({ length: 30 }, (_, index) => kit.toCreate(`r${index}`));
    const outcomes = await kit.attempt(operations);
    expect(outcomes.map(describeOutcome)).toEqual(operations.map(() => 'written created'));
    expect(await kit.objects()).toHaveLength(30);
  },
  'no operations at all cost no request': async (kit) => {
    kit.target.proxy.forget();
    expect(await kit.connector.apply(kit.target.container, [], AbortSignal.timeout(paced(60_000)))).toEqual([]);
    expect(kit.target.proxy.requests).toEqual([]);
  },
});

/**
 * Returns a part of the target, its dialect or its connector that this case requires and that not every vendor has. @throws Error that
 * names the missing part
 */
export function required<From extends object, Name extends keyof From & string>(from: From, name: Name) {
  const part = from[name];
  if (part === undefined) {
    throw new Error(
      `there is no ${name}: give it in the target, or skip the case or its group with the reason, a fact about the vendor`,
    );
  }
  return part as NonNullable<From[Name]>;
}
