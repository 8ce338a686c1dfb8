import { mkdtemp, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { AuditDraft, AuditLogFault } from '../../../src/core/model/acts.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { type AuditLog, createAuditLog } from '../../../src/operator/control/audit-log.ts';
import { controlKeys } from '../../../src/operator/control/keys.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const KEY = Buffer.alloc(32, 7);
const clock = { now: NOW };
let directory = '';

beforeEach(async () => {
  clock.now = NOW;
  directory = await mkdtemp(join(tmpdir(), 'clinic-mirror-audit-log-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

function open(more: { directory?: string; identityKey?: Buffer; folderEntries?: number } = {}): AuditLog {
  return createAuditLog({
    ...{ redis: redis.connect(), directory, identityKey: KEY, folderEntries: 8, retentionMonths: () => 12 },
    ...{ clock: () => clock.now, log: silentLogger },
    ...more,
  });
}

function draft(hold: number): AuditDraft {
  const who = { kind: 'os-user', name: 'anna', id: 'login:1001', claimed: null } as const;
  const act = { verb: 'approve', tenant: 'studio-rossi', who, what: { hold }, why: 'INC-7', act: null } as const;
  return { ...act, outcome: 'done', code: null };
}

/** Writes the log's first entry and this number of test entries. */
async function write(log: AuditLog, entries: number): Promise<string> {
  let chain = '';
  for (let hold = 0; hold < entries; hold += 1) ({ chain } = await log.append(draft(hold)));
  return chain;
}

/** The file of an entry, whichever folder it is in. */
async function fileOf(chain: string, sequence: number): Promise<string> {
  const root = join(directory, 'audit-log', chain);
  const name = `${String(sequence).padStart(8, '0')}.json`;
  for (const folder of await readdir(root)) {
    if ((await readdir(join(root, folder))).includes(name)) return join(root, folder, name);
  }
  throw new Error(`there is no entry ${sequence}`);
}

async function faultsOf(log: AuditLog): Promise<Pick<AuditLogFault, 'from' | 'to' | 'fault'>[]> {
  const { faults } = await log.verify(new Set());
  return faults.map(({ from, to, fault }) => ({ from, to, fault }));
}

const at = (sequence: number, fault: AuditLogFault['fault']) => ({ from: sequence, to: sequence, fault });

describe('an entry', () => {
  test('records actor, action, time and reason, is one line of JSON, and its file is private', async () => {
    const log = open();
    const { chain } = await log.append(draft(1));
    const file = await fileOf(chain, 2);
    expect((await stat(file)).mode & 0o077).toBe(0);
    const text = await readFile(file, 'utf8');
    expect(JSON.parse(text)).toMatchObject({
      ...{ chain, sequence: 2, at: new Date(NOW).toISOString(), verb: 'approve', why: 'INC-7', outcome: 'done' },
      ...{ tenant: 'studio-rossi', who: { name: 'anna', id: 'login:1001' }, what: { hold: 1 } },
    });
    expect(text.split('\n')).toHaveLength(2);
  });

  test('that cannot be written is reported with the remedy', async () => {
    await writeFile(join(directory, 'audit-log'), 'a file where a folder should be');
    await expect(open().append(draft(1))).rejects.toMatchObject({ actor: 'settings', code: 'audit-log-unwritable' });
  });
});

describe('a check of the whole log', () => {
  test('finds no fault in entries that many processes wrote at one moment, and each number once', async () => {
    const logs = Array.from({ length: 6 }, () => open());
    await logs[0]?.append(draft(0));
    const written = await Promise.all(logs.flatMap((log) => [1, 2, 3, 4].map((hold) => log.append(draft(hold)))));
    expect(written.map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual(written.map((_, index) => index + 3));
    const verdict = await open().verify(new Set());
    expect(verdict.faults).toEqual([]);
    expect(verdict.chains).toMatchObject([{ first: 1, last: 26, entries: 26, head: { sequence: 26 } }]);
  });

  test('reports changed, removed or moved entries by their numbers, and no other entry', async () => {
    const entries = 20;
    const damage = fc.record({
      kind: fc.constantFrom('change', 'garble', 'remove', 'swap'),
      sequence: fc.integer({ min: 2, max: entries - 1 }),
    });
    await fc.assert(
      fc.asyncProperty(damage, async ({ kind, sequence }) => {
        await redis.connect().flushall();
        await rm(join(directory, 'audit-log'), { recursive: true, force: true });
        const log = open();
        const chain = await write(log, entries - 1);
        const file = await fileOf(chain, sequence);
        if (kind === 'change') await writeFile(file, (await readFile(file, 'utf8')).replace('INC-7', 'INC-8'));
        if (kind === 'garble') await writeFile(file, 'nothing');
        if (kind === 'remove') await unlink(file);
        if (kind === 'swap') {
          const next = await fileOf(chain, sequence + 1);
          await rename(file, `${file}.away`);
          await rename(next, file);
          await rename(`${file}.away`, next);
        }
        const expected = {
          change: [at(sequence, 'changed')],
          garble: [at(sequence, 'changed')],
          remove: [at(sequence, 'missing')],
          swap: [at(sequence, 'misplaced'), at(sequence + 1, 'misplaced')],
        };
        const endIsOther = kind === 'swap' && sequence + 1 === entries;
        expect(await faultsOf(log)).toEqual([...expected[kind], ...(endIsOther ? [at(entries, 'replaced')] : [])]);
      }),
      { numRuns: 25 },
    );
  });

  test('finds an entry that was rewritten without the identity key', async () => {
    const log = open();
    const chain = await write(log, 5);
    const other = open({ identityKey: Buffer.alloc(32, 8) });
    await unlink(await fileOf(chain, 6));
    await redis.connect().del(controlKeys.auditLog());
    await other.append(draft(99));
    expect(await faultsOf(log)).toEqual([at(6, 'changed')]);
  });

  test('finds a missing end by the record in Redis; later entries begin another chain', async () => {
    const log = open();
    const chain = await write(log, 9);
    for (const sequence of [9, 10]) await unlink(await fileOf(chain, sequence));
    expect(await faultsOf(log)).toEqual([{ from: 9, to: 10, fault: 'cut-off' }]);
    const next = await log.append(draft(99));
    expect(next.chain).not.toBe(chain);
    expect(await faultsOf(log)).toEqual([{ from: 9, to: 10, fault: 'cut-off' }]);
    const begins = await Array.fromAsync(log.read());
    expect(begins.map(({ entry }) => entry?.what)).toContainEqual({ follows: chain, known: 10, found: 8 });
  });

  test('finds a missing end if the record in Redis is damaged', async () => {
    const log = open();
    const chain = await write(log, 3);
    await redis.connect().hset(controlKeys.auditLog(), chain, 'x y z');
    expect(await faultsOf(log)).toMatchObject([{ from: 5, fault: 'cut-off' }]);
    expect((await log.append(draft(99))).chain).not.toBe(chain);
  });

  test('finds that an older copy of the directory was restored, also after later entries', async () => {
    const log = open();
    const chain = await write(log, 5);
    await unlink(await fileOf(chain, 6));
    // To hide this from the log, an attacker must change Redis too.
    const head = await redis.connect().hget(controlKeys.auditLog(), chain);
    await redis.connect().del(controlKeys.auditLog());
    await log.append(draft(98));
    await redis.connect().hset(controlKeys.auditLog(), chain, head ?? '');
    expect(await faultsOf(log)).toEqual([at(6, 'replaced')]);
  });

  test('finds an inserted entry of another version of the chain', async () => {
    const log = open();
    const chain = await write(log, 5);
    const file = await fileOf(chain, 6);
    const other = await readFile(file, 'utf8');
    await unlink(file);
    await redis.connect().del(controlKeys.auditLog());
    await log.append(draft(98));
    await log.append(draft(99));
    await writeFile(file, other);
    expect(await faultsOf(log)).toEqual([at(7, 'unlinked')]);
  });

  test('finds that a whole chain is missing, unless it is declared as kept elsewhere', async () => {
    const chain = await write(open(), 3);
    await rm(join(directory, 'audit-log'), { recursive: true });
    const { chain: next } = await open().append(draft(1));
    expect(next).not.toBe(chain);
    expect((await open().verify(new Set())).faults).toEqual([{ chain, from: null, to: null, fault: 'absent' }]);
    expect((await open().verify(new Set([chain]))).faults).toEqual([]);
  });

  test('continues without the record in Redis, and reports that the end is unknown', async () => {
    const log = open();
    const chain = await write(log, 3);
    await redis.connect().flushall();
    expect((await log.verify(new Set())).chains).toMatchObject([{ chain, last: 4, head: null }]);
    await expect(log.append(draft(4))).resolves.toMatchObject({ chain, sequence: 5 });
    expect((await log.verify(new Set())).chains).toMatchObject([{ head: { sequence: 5 } }]);
  });
});

describe('entries that are too old', () => {
  test('are deleted in whole folders; the log records this, and a check accepts it', async () => {
    const log = open();
    const chain = await write(log, 15);
    clock.now += 400 * DAY_MS;
    await write(log, 9);
    const { chains, faults } = await log.verify(new Set());
    expect(faults).toEqual([]);
    expect(chains).toMatchObject([{ chain, first: 17, last: 27 }]);
    const told = (await Array.fromAsync(log.read())).flatMap(({ entry }) => entry ?? []);
    expect(told.filter(({ verb }) => verb === 'trim-log').map(({ what }) => what.through)).toEqual([8, 16]);
  });

  test('are deleted by a check of the daemon, which counts them, without a new action', async () => {
    const log = open();
    expect(await log.trim()).toBe(0);
    await write(log, 14);
    expect(await log.trim()).toBe(0);
    clock.now += 400 * DAY_MS;
    await write(log, 1);
    const before = (await Array.fromAsync(log.read())).length;
    const ended = await log.trim();
    const after = (await Array.fromAsync(log.read())).length;
    expect(ended).toBeGreaterThan(0);
    expect(before - after).toBe(ended - ended / 8);
    expect((await log.verify(new Set())).faults).toEqual([]);
    expect(await log.trim()).toBe(0);
  });

  test('that another program deleted are missing', async () => {
    const log = open();
    const chain = await write(log, 15);
    await rm(join(directory, 'audit-log', chain, '00000'), { recursive: true });
    expect(await faultsOf(log)).toEqual([{ from: 1, to: 8, fault: 'missing' }]);
  });

  test('are not determined by a forged age in the entries', async () => {
    const log = open();
    const chain = await write(log, 7);
    const file = await fileOf(chain, 8);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(/"at":"\d{4}/, '"at":"1999'));
    await write(log, 3);
    expect(await faultsOf(log)).toEqual([at(8, 'changed')]);
  });
});
