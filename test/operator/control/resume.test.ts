import { describe, expect, test } from 'vitest';
import type { Actor } from '../../../src/core/model/errors.ts';
import type { StoredTarget } from '../../../src/engine/store.ts';
import { resumeTargets, tryWhatWaits, waitsForPerson } from '../../../src/operator/control/resume.ts';
import { NOW } from '../../domain/arbitraries.ts';

const failureOf = (actor: Actor, code = 'no', isAskedToWait?: boolean) => ({
  failure: { actor, code, sinceAt: NOW, ...(isAskedToWait === undefined ? {} : { isAskedToWait }) },
});

/** Targets with what is stored of each, and which of them get their turn now. */
function open(stored: Readonly<Record<string, object>>) {
  const hurried: string[] = [];
  const ended: string[] = [];
  const tenant = {
    clock: () => NOW,
    targets: new Map(Object.keys(stored).map((id) => [id, { id }])),
    targetStore: {
      read: async (id: string) => ({ failure: null, pausedUntil: null, ...stored[id] }),
      write: async (id: string, { pausedUntil }: { pausedUntil: null }) =>
        void (pausedUntil === null && ended.push(id)),
    },
    outbox: { hurry: async (id: string, at: number) => void (at === NOW && hurried.push(id)) },
  } as unknown as Parameters<typeof tryWhatWaits>[0];
  return { tenant, hurried, ended };
}

describe('after an operator’s action', () => {
  test('targets that waited for the operator, or for a refusal to be confirmed, are retried', async () => {
    const { tenant, hurried, ended } = open({
      ...{ settings: failureOf('settings'), login: failureOf('authorization'), guard: failureOf('guard') },
      ...{ refused: failureOf('remote', 'refusal-unconfirmed'), away: failureOf('remote'), well: {} },
      ...{ limited: { ...failureOf('remote', 'rate-limited', true), pausedUntil: NOW + 1 } },
    });
    expect(await resumeTargets(tenant)).toEqual(['settings', 'login', 'guard', 'refused']);
    expect([hurried, ended]).toEqual([hurried, hurried]);
    expect(hurried).toHaveLength(4);
  });
});

describe('when an operator retries everything', () => {
  test('targets continue, except those that the vendor delayed, directly or by another target of their account', async () => {
    const { tenant, hurried, ended } = open({
      ...{
        away: failureOf('remote'),
        well: {},
        over: { pausedUntil: NOW },
        settings: failureOf('settings', 'no', true),
      },
      ...{ limited: failureOf('remote', 'rate-limited', true), neighbour: { pausedUntil: NOW + 1 } },
    });
    await tryWhatWaits(tenant);
    expect(hurried).toEqual(['away', 'well', 'over', 'settings']);
    expect(ended).toEqual(hurried);
  });
});

test('a target waits for an operator if its failure is one of settings, authorization or guard', () => {
  const actors: Actor[] = ['settings', 'authorization', 'guard', 'remote', 'contract', 'conflict'];
  const waiting = actors.filter((actor) =>
    waitsForPerson(failureOf(actor) as unknown as Pick<StoredTarget, 'failure'>),
  );
  expect(waiting).toEqual(['settings', 'authorization', 'guard']);
  expect(waitsForPerson({ failure: null })).toBe(false);
});
