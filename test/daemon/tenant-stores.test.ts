import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { CacheBudget } from '../../src/core/model/cache.ts';
import type { OpenConnection } from '../../src/daemon/open-connection.ts';
import { createTenantCache, mayClose } from '../../src/daemon/tenant-stores.ts';
import type { OpenCrm } from '../../src/domain/cycle-input.ts';
import type { Protection } from '../../src/state/protection.ts';

describe('an idle tenant', () => {
  const isClosed = (targets: ('calendar' | 'crm')[], connections: boolean[]) =>
    mayClose({
      tenant: {
        targets: new Map(targets.map((kind, index) => [`t${index}`, { crm: kind === 'crm' ? ({} as OpenCrm) : null }])),
      },
      connections: new Map(
        connections.map((isAtRest, index) => [`c${index}`, { mayClose: () => isAtRest } as unknown as OpenConnection]),
      ),
    });

  test('is closed if it has only calendars and no connection holds a token', () => {
    expect(isClosed(['calendar', 'calendar'], [true, true])).toBe(true);
    expect(isClosed([], [true])).toBe(true);
  });

  test('stays open while a connection may hold a token only in memory', () => {
    expect(isClosed(['calendar'], [true, false])).toBe(false);
  });

  test('stays open if one of its targets is in a CRM', () => {
    expect(isClosed(['calendar', 'crm'], [true])).toBe(false);
  });
});

describe('the in-memory state of a tenant', () => {
  const cacheOf = (formerly: string | null, earlier: { protection: Protection } | null) => {
    const asked: unknown[] = [];
    const parts = {
      redis: {},
      room: new CacheBudget(1_000),
      stateCounter: {
        of(...names: string[]) {
          asked.push(names);
          return { recordWriting: () => {} };
        },
      },
      configuration: { settings: { secrets: { identityKey: { reveal: () => new Uint8Array(32) } } } },
      clock: () => 0,
      log: silentLogger,
      priority: 'background',
    } as unknown as Parameters<typeof createTenantCache>[2];
    const targets = ['one', 'two'].map((id) => ({ id, formerly: null }));
    const cache = createTenantCache({ id: 'aurora', formerly, targets }, earlier, parts);
    return { asked, cache };
  };

  test('keeps only patient protection under another configuration', () => {
    const first = cacheOf(null, null);
    const { cache, asked } = cacheOf(null, first.cache);
    expect(cache.protection).toBe(first.cache.protection);
    expect(asked).toEqual([]);
    expect(cache.links).not.toBe(first.cache.links);
    expect(cache.targets.get('one')).not.toBe(first.cache.targets.get('one'));
  });

  test('is separate for each target', () => {
    const { targets } = cacheOf(null, null).cache;
    expect([...targets.keys()]).toEqual(['one', 'two']);
    expect(targets.get('one')?.fingerprints).not.toBe(targets.get('two')?.fingerprints);
  });

  test('about protected patients uses the tenant’s former name', () => {
    expect(cacheOf('bianchi', null).asked).toEqual([['aurora', 'bianchi']]);
    expect(cacheOf(null, null).asked).toEqual([['aurora', 'aurora']]);
  });
});
