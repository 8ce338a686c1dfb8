import { describe, expect, test } from 'vitest';
import type { Connector, ConnectorContext } from '../../src/connectors/connector.ts';
import { loadedLater } from '../../src/connectors/loaded-later.ts';

const NEVER = new AbortController().signal;
const CHANNEL = { id: 'a', handle: 'b', expiresAt: 3 };
const NOTHING = { scope: 'whole' as const, items: [], removed: [], cursor: null };

/** A connector that records its calls. */
function connectorOf(asked: string[]): Connector {
  const telling =
    <Answer>(name: string, answer: Answer) =>
    async (...given: unknown[]): Promise<Answer> => {
      asked.push([name, ...given.filter((one) => one !== NEVER)].join(' '));
      return answer;
    };
  return {
    prepare: telling('prepare', 'container'),
    locate: telling('locate', 'found'),
    apply: telling('apply', []),
    async *read(container) {
      asked.push(`read ${container}`);
      yield [];
      yield [];
    },
    find: telling('find', []),
    changes: telling('changes', NOTHING),
    subscriptions: {
      open: telling('open', CHANNEL),
      extend: telling('extend', CHANNEL),
      close: telling('close', undefined),
    },
  };
}

function world({ locates = true, notifies = true, fails = 0 } = {}) {
  const asked: string[] = [];
  let loads = 0;
  const open = loadedLater<{ name: string }, never>({
    async load() {
      loads += 1;
      if (loads <= fails) throw new Error('no file handle is left');
      return () => connectorOf(asked) as unknown as Connector<never>;
    },
    locates: () => locates,
    notifies,
  });
  const connector = open({ settings: { name: 'a' } } as ConnectorContext<{ name: string }>);
  return { connector, asked, loads: () => loads };
}

describe('a connector that is loaded later', () => {
  test('loads nothing when opened, and loads once at the first call', async () => {
    const { connector, asked, loads } = world();
    expect(loads()).toBe(0);
    expect(await Promise.all([connector.prepare('known', NEVER), connector.prepare(null, NEVER)])).toEqual([
      'container',
      'container',
    ]);
    expect(loads()).toBe(1);
    expect(asked).toEqual(['prepare known', 'prepare ']);
  });

  test('forwards every call and its result', async () => {
    const { connector, asked } = world();
    expect(await connector.locate?.(NEVER)).toBe('found');
    expect(await connector.apply('c', [], NEVER)).toEqual([]);
    expect(await Array.fromAsync(connector.read('c', null, NEVER))).toEqual([[], []]);
    expect(await connector.find('c', ['k' as never], NEVER)).toEqual([]);
    expect(await connector.changes('c', { cursor: null, window: { fromAt: 1, toAt: 2 } }, NEVER)).toEqual(NOTHING);
    const request = { id: 'a', secret: 'b', address: 'c', expiresAt: 3 };
    expect(await connector.subscriptions?.open('c', request, NEVER)).toEqual(CHANNEL);
    expect(await connector.subscriptions?.extend(CHANNEL, 4, NEVER)).toEqual(CHANNEL);
    await connector.subscriptions?.close(CHANNEL, NEVER);
    expect(asked.map((one) => one.split(' ')[0])).toEqual([
      ...['locate', 'apply', 'read', 'find', 'changes', 'open', 'extend', 'close'],
    ]);
  });

  test('has the optional methods that its module declares, before anything is loaded', () => {
    const { connector, loads } = world({ locates: false, notifies: false });
    expect([connector.locate, connector.subscriptions]).toEqual([undefined, undefined]);
    expect(loads()).toBe(0);
  });

  test('retries a failed load', async () => {
    const { connector } = world({ fails: 1 });
    await expect(connector.prepare(null, NEVER)).rejects.toThrow('no file handle');
    expect(await connector.prepare(null, NEVER)).toBe('container');
  });
});
