import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Link } from '../../../src/core/model/operations.ts';
import { eachInPieces, type Pieces } from '../../../src/core/model/pieces.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { inPieces, pause } from '../../../src/core/pieces/in-pieces.ts';
import { CALENDAR_FORM } from '../../../src/domain/item-forms.ts';
import { describeAppointment } from '../../../src/domain/mapping-sources.ts';
import { project } from '../../../src/domain/project.ts';
import { adopt, namesOf } from '../../../src/engine/adopt.ts';
import { audit } from '../../../src/engine/audit.ts';
import { diff } from '../../../src/engine/diff.ts';
import { createTargetIdentity } from '../../../src/engine/identity.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOTHING_MORE, NOW } from '../../domain/arbitraries.ts';

const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'doctor', CALENDAR_FORM);
const WINDOW = { fromAt: NOW - 7 * DAY_MS, toAt: NOW + 4_000 * DAY_MS };
const POLICY = {
  ...NOTHING_MORE,
  presets: [],
  title: 'code',
  fields: [],
  statuses: ['booked'],
  free: [],
  language: 'it',
  zone: 'Europe/Rome',
} as const;

/** A target with tens of thousands of appointments, as the clinic, the links and the target have them. */
function large(size: number) {
  const appointments = Array.from({ length: size }, (_, index) => appointmentOf(`${index}`, { inHours: index }));
  const written = appointments.flatMap((appointment) => {
    const key = identity.key(appointment.id, 0);
    const item = project(appointment, POLICY, EMPTY_DIRECTORY, () => key);
    return item === null ? [] : [{ id: appointment.id, key, item, time: appointment.time }];
  });
  const links = new Map(
    written.map(({ id, item, time: { startAt, endAt } }): [string, Link] => [
      id,
      {
        recordId: id,
        fingerprint: identity.fingerprint(item),
        versionTag: 'v1',
        startAt,
        endAt,
        idAttempt: 0,
        remoteId: null,
        drift: null,
      },
    ]),
  );
  const remote = written.map(({ id, key, item }) => ({
    key,
    sealedRecordId: identity.sealedRecordId(id),
    remoteId: key,
    versionTag: 'v1',
    item,
  }));
  return { appointments, links, remote };
}

/** The result of work, and in how many pieces it is done: others may have their turn after each. */
function countPieces<Result>(work: Pieces<Result>): { result: Result; pieces: number } {
  for (let pieces = 0; ; pieces += 1) {
    const step = work.next();
    if (step.done === true) return { result: step.value, pieces };
  }
}

/** Advances the time at each reading of the clock, from the next turn of the event loop on. Sums of whole and quarter milliseconds are exact. */
async function everyLookTakes(ms: number): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  let now = Math.ceil(performance.now());
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += ms;
    return now;
  });
  onTestFinished(() => void vi.restoreAllMocks());
}

describe('with five thousand appointments others may have their turn again and again', () => {
  const { appointments, links, remote } = large(5_000);
  const state = { links, pending: new Map() };

  test('while a plan is made', () => {
    const work = diff({
      records: appointments,
      describe: describeAppointment,
      tombstones: [],
      vanished: new Set(),
      window: WINDOW,
      rule(appointment, key) {
        const item = project(appointment, POLICY, EMPTY_DIRECTORY, key);
        return item === null ? { exclude: 'status' } : { item };
      },
      restores: () => true,
      identity,
      state,
    });
    const { result, pieces } = countPieces(work);
    expect(result).toMatchObject({ changes: [], unchanged: 5_000 });
    expect(pieces).toBeGreaterThan(70);
  });

  test.for([
    ['whole', 5_000],
    ['since', 1],
  ] as const)('while a target is compared with what it was given (%s)', ([scope, named]) => {
    const reading = { scope, items: remote.slice(0, named), removed: ['somebody-elses'] };
    const work = audit({ reading, ...state, identity, window: WINDOW });
    const { result, pieces } = countPieces(work);
    expect(result).toMatchObject({ checked: 5_000, edited: [], removed: [] });
    expect(pieces).toBeGreaterThan(70);
  });

  test('while links are built again', () => {
    const { result, pieces } = countPieces(
      adopt(remote, { identity, unreadableStartAt: NOW, names: () => namesOf(identity, []) }),
    );
    expect(result.links).toHaveLength(5_000);
    expect(pieces).toBeGreaterThan(70);
  });
});

/** Work of some pieces that names each piece. */
function* named(name: string, count: number, seen: string[]): Pieces<string> {
  for (let piece = 0; piece < count; piece += 1) {
    seen.push(name);
    yield;
  }
  return name;
}

/** Counts the turns of the event loop. */
function countTurns(seen: string[]): () => void {
  let isOver = false;
  const next = () => {
    seen.push('|');
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return () => {
    isOver = true;
  };
}

/** Pieces of each turn. */
const turnsIn = (seen: readonly string[]) =>
  seen
    .join('')
    .split('|')
    .filter((pieces) => pieces !== '');

test('others have their turn after a millisecond of work, and no sooner', async () => {
  await everyLookTakes(0.375);
  const seen: string[] = [];
  const end = countTurns(seen);
  expect(await inPieces(named('a', 50, seen))).toBe('a');
  end();
  const lengths = turnsIn(seen).map(({ length }) => length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(3);
  expect(lengths.length).toBeLessThan(28);
});

test('several long works together have one turn, and each of them ends', async () => {
  await everyLookTakes(0.375);
  const seen: string[] = [];
  const end = countTurns(seen);
  const names = ['a', 'b', 'c', 'd', 'e'];
  expect(await Promise.all(names.map((name) => inPieces(named(name, 40, seen))))).toEqual(names);
  end();
  const turns = turnsIn(seen);
  // A work that a pause resumes does one piece at least.
  expect(Math.max(...turns.map(({ length }) => length))).toBeLessThanOrEqual(4);
  expect(turns.join('')).toHaveLength(200);
});

test('a short work does not wait for all long ones', async () => {
  await everyLookTakes(0.375);
  const seen: string[] = [];
  const end = countTurns(seen);
  const long = Array.from({ length: 20 }, () => inPieces(named('l', 100, seen)));
  while (turnsIn(seen).length < 50) await new Promise((resolve) => setImmediate(resolve));
  const before = turnsIn(seen).length;
  await inPieces(named('s', 3, seen));
  const waited = turnsIn(seen).length - before;
  await Promise.all(long);
  end();
  expect(waited).toBeLessThan(8);
  expect(turnsIn(seen).length).toBeGreaterThan(200);
});

test('a loop of its own pauses only if the turn is over', async () => {
  await everyLookTakes(0.375);
  const seen: string[] = [];
  const end = countTurns(seen);
  for (let step = 0; step < 30; step += 1) {
    seen.push('.');
    await pause();
  }
  end();
  const lengths = turnsIn(seen).map(({ length }) => length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(4);
  expect(lengths.length).toBeLessThan(18);
});

test('stopped work ends between two pieces', async () => {
  await everyLookTakes(0.375);
  const stop = new AbortController();
  let done = 0;
  const busy = function* (): Pieces<void> {
    yield* eachInPieces(Array.from({ length: 1_000_000 }), () => {
      done += 1;
      if (done === 100) stop.abort(new Error('the lease was lost'));
    });
  };
  await expect(inPieces(busy(), stop.signal)).rejects.toThrow('the lease was lost');
  expect(done).toBeLessThan(2_000);
});
