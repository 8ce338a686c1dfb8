import { expect } from 'vitest';
import type { ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';
import { seededRandom } from '../../../sandbox/kit/random.ts';
import type { Item } from '../../../src/core/model/items.ts';
import type { Operation, Outcome } from '../../../src/core/model/operations.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { type AnyKit, keyOf, sealedRecordIdOf } from '../contract-kit.ts';

const RECORDS = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5'];
const ROUNDS = 30;

/** State of a record in the daemon: the wanted item and the last outcome. */
interface Memory {
  recordId: string;
  /** Title of the wanted item; null if no item is wanted. */
  wanted: string | null;
  /** A managed object may exist. */
  linked: boolean;
  versionTag: string | null;
  epoch: number;
  /** The last wish has not been acknowledged. */
  isPending: boolean;
}

/** Long random histories: wishes change, people interfere, answers get lost; in the end the calendar shows the last wishes. */
export const histories = group('histories', {
  'a random history with faults and manual changes results in the last requested content (1)': history(1),
  'a random history with faults and manual changes results in the last requested content (2)': history(2),
  'a random history with faults and manual changes results in the last requested content (3)': history(3),
});

function history(seed: number): ContractCase['run'] {
  return async (kit) => {
    const random = seededRandom(seed);
    const memories = RECORDS.map((recordId) => newMemory(recordId));
    await kit.target.server.putForeign('Foreign');
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const memory of memories) if (random() < 0.4) wishAgain(memory, random, round);
      if (random() < 0.3) await interfere(kit, random);
      await push(kit, memories, pick(faultsOf(kit), random));
    }
    for (const memory of memories) memory.isPending = true;
    for (let tries = 0; tries < 5; tries += 1) await push(kit, memories, null);
    await expectWishes(kit, memories);
  };
}

function newMemory(recordId: string): Memory {
  return { recordId, wanted: null, linked: false, versionTag: null, epoch: 0, isPending: false };
}

function wishAgain(memory: Memory, random: () => number, round: number): void {
  memory.wanted = random() < 0.25 ? null : `${memory.recordId} in round ${round}`;
  memory.isPending = true;
}

async function interfere(kit: AnyKit, random: () => number): Promise<void> {
  const ours = (await kit.objects()).filter((object) => object.ownerTag !== null);
  if (ours.length === 0) return;
  const { remoteId } = pick(ours, random);
  if (random() < 0.5) await kit.target.server.editByHand(remoteId, { title: 'By hand' });
  else await kit.target.server.deleteByHand(remoteId);
}

function faultsOf(kit: AnyKit): (ProxyFault | null)[] {
  const { dialect } = kit.target;
  const broken = (['cut', 'lost-answer', 'cut-body', 'html'] as const).map((kind) => ({ kind }));
  const answers = [dialect.throttled('1'), dialect.unavailable(), dialect.unauthorized()];
  return [null, null, null, ...broken, ...answers.map((answer) => ({ kind: 'answer', answer }) as const)];
}

async function push(kit: AnyKit, memories: readonly Memory[], fault: ProxyFault | null): Promise<void> {
  const pending = memories.filter((memory) => memory.isPending);
  kit.target.proxy.clear();
  if (fault !== null) kit.target.proxy.add({ ...kit.target.dialect.writes, fault });
  const outcomes = await kit.attempt(pending.map((memory) => toOperation(kit, memory)));
  pending.forEach((memory, index) => {
    note(memory, outcomes[index]!);
  });
}

function toOperation(kit: AnyKit, memory: Memory): Operation<Item> {
  const { recordId, wanted, linked, versionTag, epoch } = memory;
  const key = keyOf(recordId, epoch);
  if (wanted === null) return { kind: 'delete', recordId, key, revision: 1, versionTag, remoteId: null };
  const base = { recordId, key, sealedRecordId: sealedRecordIdOf(recordId), item: kit.item(wanted), revision: 1 };
  return linked ? { kind: 'update', ...base, versionTag, remoteId: null } : { kind: 'create', ...base };
}

function note(memory: Memory, outcome: Outcome<Item>): void {
  if (outcome.result === 'failed') {
    expect(outcome.error.retry, outcome.error.code).not.toBe('never');
    return;
  }
  if (outcome.result === 'key-burnt') {
    Object.assign(memory, { epoch: memory.epoch + 1, linked: false, versionTag: null });
    return;
  }
  memory.isPending = false;
  memory.linked = outcome.result === 'written';
  memory.versionTag = outcome.result === 'written' ? outcome.versionTag : null;
}

async function expectWishes(kit: AnyKit, memories: readonly Memory[]): Promise<void> {
  const wanted = memories.flatMap(({ wanted, recordId, epoch }) =>
    wanted === null
      ? []
      : [{ key: keyOf(recordId, epoch), sealedRecordId: sealedRecordIdOf(recordId), item: kit.item(wanted) }],
  );
  const read = await kit.readAll();
  const byKey = (one: { key: string }, other: { key: string }) => one.key.localeCompare(other.key);
  expect(read.toSorted(byKey)).toMatchObject(wanted.toSorted(byKey));
  const objects = await kit.objects();
  expect(objects.filter((object) => object.ownerTag === null).map((object) => object.title)).toEqual(['Foreign']);
  expect(objects.filter((object) => object.ownerTag !== null)).toHaveLength(wanted.length);
}

function pick<Value>(values: readonly Value[], random: () => number): Value {
  return values[Math.floor(random() * values.length)]!;
}
