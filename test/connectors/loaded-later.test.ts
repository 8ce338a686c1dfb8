import { describe, expect, test } from 'vitest';
import type { Connector, ConnectorContext } from '../../src/connectors/connector.ts';
import { loadedLater } from '../../src/connectors/loaded-later.ts';
import type { StreamName } from '../../src/core/model/items.ts';

const NEVER = new AbortController().signal;
const CREATES = { creates: true };
const CHANNEL = { id: 'a', handle: 'b', expiresAt: 3 };
const NOTHING = { scope: 'whole' as const, items: [], removed: [], cursor: null };

/** A connector that records its calls. */
function connectorOf(asked: string[]): Connector {
  const telling =
    <Answer>(name: string, answer: Answer) =>
    async (...given: unknown[]): Promise<Answer> => {
      asked.push([name, ...given.filter((one) => one !== NEVER && one !== CREATES)].join(' '));
      return answer;
    };
  return {
    prepare: telling('prepare', 'container'),
    apply: telling('apply', []),
    async *read(container) {
      asked.push(`read ${container}`);
      yield [];
      yield [];
    },
    find: telling('find', []),
    changes: telling('changes', NOTHING),
    contacts: {
      async *list() {
        asked.push('list');
        yield [];
      },
      read: telling('contacts', []),
      stamp: telling('stamp', new Map()),
      holders: telling('holders', []),
    },
    subscriptions: {
      open: telling('open', CHANNEL),
      extend: telling('extend', CHANNEL),
      close: telling('close', undefined),
    },
  };
}

interface Choice {
  notifies?: boolean;
  hasContacts?: boolean | 'holders';
  stream?: StreamName;
  fails?: number;
}

function world({ notifies = true, hasContacts = 'holders', stream = 'patients', fails = 0 }: Choice = {}) {
  const asked: string[] = [];
  let loads = 0;
  const open = loadedLater<{ name: string }, never>({
    async load() {
      loads += 1;
      if (loads <= fails) throw new Error('no file handle is left');
      return () => connectorOf(asked) as unknown as Connector<never>;
    },
    notifies,
    hasContacts: () => hasContacts,
  });
  const connector = open({ settings: { name: 'a' }, crm: { stream } } as ConnectorContext<{ name: string }>);
  return { connector, asked, loads: () => loads };
}

describe('a connector that is loaded later', () => {
  test('loads nothing when opened, and loads once at the first call', async () => {
    const { connector, asked, loads } = world();
    expect(loads()).toBe(0);
    expect(
      await Promise.all([connector.prepare('known', CREATES, NEVER), connector.prepare(null, CREATES, NEVER)]),
    ).toEqual(['container', 'container']);
    expect(loads()).toBe(1);
    expect(asked).toEqual(['prepare known', 'prepare ']);
  });

  test('forwards every call and its result', async () => {
    const { connector, asked } = world();
    expect(await connector.apply('c', [], NEVER)).toEqual([]);
    expect(await Array.fromAsync(connector.read('c', null, NEVER))).toEqual([[], []]);
    expect(await connector.find('c', ['k' as never], NEVER)).toEqual([]);
    expect(await connector.changes('c', { cursor: null, window: { fromAt: 1, toAt: 2 } }, NEVER)).toEqual(NOTHING);
    const request = { id: 'a', secret: 'b', address: 'c', expiresAt: 3 };
    expect(await connector.subscriptions?.open('c', request, NEVER)).toEqual(CHANNEL);
    expect(await connector.subscriptions?.extend(CHANNEL, 4, NEVER)).toEqual(CHANNEL);
    await connector.subscriptions?.close(CHANNEL, NEVER);
    expect(await Array.fromAsync(connector.contacts!.list(NEVER))).toEqual([[]]);
    expect(await connector.contacts?.read(['1'], NEVER)).toEqual([]);
    expect(await connector.contacts?.stamp([], NEVER)).toEqual(new Map());
    expect(await connector.contacts?.holders?.(new Map<string, never>(), NEVER)).toEqual([]);
    expect(asked.map((one) => one.split(' ')[0])).toEqual([
      ...['apply', 'read', 'find', 'changes', 'open', 'extend', 'close', 'list', 'contacts', 'stamp', 'holders'],
    ]);
  });

  test('has the optional methods that its module declares, before anything is loaded', () => {
    const { connector, loads } = world({ notifies: false, hasContacts: false });
    expect([connector.contacts, connector.subscriptions]).toEqual([undefined, undefined]);
    expect(world({ hasContacts: true }).connector.contacts).not.toHaveProperty('holders');
    expect(world({ stream: 'appointments' }).connector.contacts).toBeUndefined();
    expect(loads()).toBe(0);
  });

  test('retries a failed load', async () => {
    const { connector } = world({ fails: 1 });
    await expect(connector.prepare(null, CREATES, NEVER)).rejects.toThrow('no file handle');
    expect(await connector.prepare(null, CREATES, NEVER)).toBe('container');
  });
});
