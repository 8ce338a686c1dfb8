import { describe, expect, test, vi } from 'vitest';
import type { HubSpotCall, HubSpotClient } from '../../../src/connectors/hubspot/client.ts';
import { pathsOf } from '../../../src/connectors/hubspot/client.ts';
import type { Scope } from '../../../src/connectors/hubspot/from-model.ts';
import type { Write } from '../../../src/connectors/hubspot/records.ts';
import { writeAll } from '../../../src/connectors/hubspot/writing.ts';
import { toStamp } from '../../../src/connectors/owner.ts';
import type { WireResponse } from '../../../src/connectors/wire.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import { MirrorError } from '../../../src/model/errors.ts';
import type { CrmItem } from '../../../src/model/items.ts';
import type { Outcome } from '../../../src/model/operations.ts';
import { describeOutcome, keyOf, MARK, sealedRecordIdOf } from '../../contract/contract-kit.ts';

const text = (name: string) => ({ name, kind: 'text' }) as const;
const SCOPE: Omit<Scope, 'client'> = {
  stream: 'patients',
  object: 'contacts',
  properties: [text('lastname'), text('email')],
  ownerTag: MARK,
  keyProperty: 'k',
  stampProperty: 's',
  propertyGroup: 'g',
  daysAsInstants: new Set(),
  choices: null,
  hasUniqueKey: true,
  catalogueNames: new Set(),
  subscriptions: [],
  paths: pathsOf('2026-09'),
  log: silentLogger,
};
const DEALS: typeof SCOPE = {
  ...SCOPE,
  stream: 'invoices',
  object: 'deals',
  properties: [text('dealname'), text('email')],
};

type Values = Record<string, string>;
type Input = { id: string; properties: Values; objectWriteTraceId: string };
interface Stored {
  id: string;
  values: Values;
}

/** What a test makes of an account: records by kind, and what it refuses. */
interface Account {
  contacts?: Stored[];
  deals?: Stored[];
  /** Keys and ids of which a reading says nothing. */
  silentOf?: readonly string[];
  /** Why a row of the first, the second … upsert is refused; `silence`: nothing is said of it. */
  refuses?: (input: Input, upsert: number) => object | 'silence' | undefined;
  /** Ids of records of which the joining says nothing, or that the contact is gone. */
  notJoined?: Readonly<Record<string, 'silence' | 'refused'>>;
  log?: Scope['log'];
  /** Ids under which a reading gives the record of another id: theirs were merged into it. */
  mergedInto?: Readonly<Record<string, string>>;
  /** What the answer to an upsert leaves out. */
  untold?: readonly string[];
  tellsNew?: boolean;
}

function write(
  recordId: string,
  values: Values = {},
  changes: Partial<CrmItem> = {},
): Extract<Write, { kind: 'create' }> {
  const item = { properties: values, contactKey: null, startAt: 0, ...changes };
  return {
    kind: 'create',
    recordId,
    key: keyOf(recordId),
    sealedRecordId: sealedRecordIdOf(recordId),
    item,
    revision: 1,
  };
}

function update(
  recordId: string,
  values: Values = {},
  remoteId: string | null = null,
  changes: Partial<CrmItem> = {},
): Write {
  return { ...write(recordId, values, changes), kind: 'update', versionTag: null, remoteId };
}

/** A record of ours as HubSpot holds it. */
function ours(
  recordId: string,
  id: string,
  values: Values = {},
  { contactKey = null as string | null, ownerTag = MARK } = {},
): Stored {
  const stamp = toStamp(ownerTag, { sealedRecordId: sealedRecordIdOf(recordId), contactKey, startAt: 0, revision: 1 });
  return { id, values: { k: keyOf(recordId), s: stamp, ...values } };
}

/** Entries of a 207. */
const invalid = (
  key: string,
  codes: string[],
  propertyName: string[] = [],
  message = '',
  category = 'VALIDATION_ERROR',
) => ({
  category,
  message,
  errors: codes.map((code) => ({ code, context: { propertyName } })),
  context: { objectWriteTraceId: [key] },
});
/** The address belongs to another contact. */
const taken = (key: string, holderId?: string) =>
  invalid(
    key,
    [],
    [],
    holderId === undefined ? 'taken' : `Contact already exists. Existing ID: ${holderId}`,
    'CONFLICT',
  );

/** What HubSpot answers to each call, by what it holds. */
function answersOf(account: Account, objects: Readonly<Record<string, Stored[]>>) {
  let upserts = 0;
  const success = (body: unknown): WireResponse => ({ status: 207, body, retryAfterMs: null });

  function read(records: Stored[], { inputs, idProperty }: { inputs: { id: string }[]; idProperty?: string }) {
    const results: object[] = [];
    const errors: object[] = [];
    for (const { id } of inputs) {
      if (account.silentOf?.includes(id)) continue;
      const found = records.find(
        (one) => (idProperty === undefined ? one.id : one.values[idProperty]) === (account.mergedInto?.[id] ?? id),
      );
      if (found !== undefined) results.push({ id: found.id, properties: found.values });
      else errors.push({ category: 'OBJECT_NOT_FOUND', context: { ids: [id] } });
    }
    return success({ results, errors });
  }
  function upsert(records: Stored[], inputs: Input[]) {
    upserts += 1;
    const results: object[] = [];
    const errors: object[] = [];
    for (const input of inputs) {
      const refused = account.refuses?.(input, upserts);
      if (refused === 'silence') continue;
      if (refused !== undefined) {
        errors.push(refused);
        continue;
      }
      const known = records.find(({ values }) => values.k === input.id);
      const record = known ?? { id: `new-${records.length}`, values: {} };
      Object.assign(record.values, input.properties);
      if (known === undefined) records.push(record);
      const properties = Object.fromEntries(
        Object.entries(record.values).filter(([name]) => account.untold?.includes(name) !== true),
      );
      const isNew = account.tellsNew === false ? {} : { new: known === undefined };
      results.push({ id: record.id, properties, ...isNew, objectWriteTraceId: input.id });
    }
    return success({ results, errors });
  }
  return ({ label, path, body }: HubSpotCall): WireResponse => {
    const records =
      objects[path.endsWith('/contacts') || path.includes('/contacts/batch/') ? 'contacts' : 'deals'] ?? [];
    const sent = body as { inputs: never[]; idProperty?: string };
    if (label === 'hubspot.objects.read') return read(records, sent);
    if (label === 'hubspot.objects.upsert') return upsert(records, sent.inputs);
    if (label === 'hubspot.objects.update') {
      expect(path).toMatch(/\/batch\/update$/);
      for (const { id, properties } of sent.inputs as { id: string; properties: Values }[])
        Object.assign(records.find((one) => one.id === id)?.values ?? {}, properties);
    }
    if (label !== 'hubspot.associations.create') return success({ results: [] });
    const ids = (sent.inputs as { from: { id: string } }[]).map(({ from }) => from.id);
    return success({
      results: ids.filter((id) => account.notJoined?.[id] === undefined).map((id) => ({ from: { id } })),
      errors: ids
        .filter((id) => account.notJoined?.[id] === 'refused')
        .map((id) => ({ context: { fromObjectId: [id] } })),
    });
  };
}

async function run(scope: typeof SCOPE, account: Account, ...writes: Write[]) {
  const objects: Record<string, Stored[]> = {
    contacts: [...(account.contacts ?? [])],
    deals: [...(account.deals ?? [])],
  };
  const calls: { label: string; body: { inputs: unknown[]; properties?: unknown } }[] = [];
  const answerTo = answersOf(account, objects);
  const send = async (call: HubSpotCall) => {
    expect(call.method).toBe('POST');
    calls.push({ label: call.label.replace('hubspot.', ''), body: call.body as { inputs: unknown[] } });
    return answerTo(call);
  };
  const client: HubSpotClient = {
    send,
    demand: async (schema, call) => schema.parse((await send(call)).body),
    demandNothing: async (call) => void (await send(call)),
    errorOf: () => new MirrorError('x', { actor: 'remote', code: 'x', retry: 'later' }),
  };
  const outcomes: Outcome<CrmItem>[] = [];
  await writeAll({ ...scope, client, log: account.log ?? silentLogger }, writes, (outcome) => outcomes.push(outcome));
  const ends = new Map(outcomes.map((outcome) => [outcome.recordId, outcome]));
  expect(outcomes, 'one outcome each').toHaveLength(writes.length);
  const upserted = calls.filter(({ label }) => label === 'objects.upsert').map(({ body }) => body.inputs as Input[]);
  return {
    objects,
    calls,
    labels: calls.map(({ label }) => label),
    /** The addresses that each upsert sent. */
    emails: upserted.map((inputs) => inputs.map(({ properties }) => properties.email)),
    outcomes,
    words: writes.map(({ recordId }) => describeOutcome(ends.get(recordId) as Outcome)),
    of: (recordId: string) => ends.get(recordId) as Outcome<CrmItem>,
  };
}

describe('creates of contacts', () => {
  test('are one upsert, without any look', async () => {
    const { labels, outcomes, objects } = await run(
      SCOPE,
      {},
      write('a', { lastname: 'A', email: 'a@x' }),
      write('b', { lastname: 'B' }),
    );
    expect(labels).toEqual(['objects.upsert']);
    expect(outcomes[0]).toEqual({
      recordId: 'a',
      result: 'written',
      effect: 'created',
      versionTag: null,
      remoteId: 'new-0',
      stored: { properties: { lastname: 'A', email: 'a@x' }, contactKey: null, startAt: 0 },
    });
    expect(objects.contacts?.map(({ values }) => values.lastname)).toEqual(['A', 'B']);
    expect(objects.contacts?.[0]?.values).toMatchObject({ k: keyOf('a'), s: ours('a', '').values.s });
  });

  test('that were made before adopt their records', async () => {
    expect((await run(SCOPE, { contacts: [ours('a', '1')] }, write('a'))).words).toEqual(['written adopted']);
  });

  test('of which two are for one key are one row, the last one, and both are told', async () => {
    const { outcomes, objects } = await run(
      SCOPE,
      {},
      write('a', { lastname: 'Old' }),
      write('a', { lastname: 'New' }),
    );
    expect(outcomes.map(describeOutcome as never)).toEqual(['written created', 'written created']);
    expect(objects.contacts?.map(({ values }) => values.lastname)).toEqual(['New']);
  });

  test('of which it is not told whether they are new are taken for new ones, updates for changes', async () => {
    const account = { tellsNew: false, contacts: [ours('b', '1')] };
    expect((await run(SCOPE, account, write('a'), update('b'))).words).toEqual(['written created', 'written updated']);
  });

  test('tell nothing of addresses where none was refused', async () => {
    const info = vi.fn();
    await run(SCOPE, { log: { ...silentLogger, info } }, write('a', { email: 'a@x' }));
    expect(info).not.toHaveBeenCalled();
  });

  test('of which nothing is said may have been written', async () => {
    const { words } = await run(
      SCOPE,
      { refuses: ({ id }) => (id === keyOf('a') ? 'silence' : undefined) },
      write('a'),
      write('b'),
    );
    expect(words).toEqual(['failed remote/answer-missing', 'written created']);
  });
});

describe('updates', () => {
  test('look first at what stands under their keys, and write it', async () => {
    const { calls, labels, words } = await run(SCOPE, { contacts: [ours('a', '1')] }, update('a', {}, '1'), write('b'));
    expect(labels).toEqual(['objects.read', 'objects.upsert']);
    expect(calls[0]?.body).toMatchObject({ inputs: [{ id: keyOf('a') }], properties: ['k', 's', 'email'] });
    expect(words).toEqual(['written updated', 'written created']);
  });

  test('of what is gone make it again', async () => {
    const { labels, words } = await run(SCOPE, {}, update('a'));
    expect(labels).toEqual(['objects.read', 'objects.upsert']);
    expect(words).toEqual(['written recreated']);
  });

  test('whose key leads to another record, into which ours was merged, write nothing into that', async () => {
    const { labels, words } = await run(SCOPE, { silentOf: [keyOf('a')] }, update('a', {}, '1'));
    expect([labels, words]).toEqual([['objects.read', 'objects.upsert'].slice(0, 1), ['key-burnt']]);
  });

  test('whose record carries the stamp of another target write nothing', async () => {
    const foreign = ours('a', '1', {}, { ownerTag: 'anothermark00000' });
    const { labels, words } = await run(SCOPE, { contacts: [foreign] }, update('a', {}, '1'));
    expect([labels, words]).toEqual([['objects.read'], ['key-burnt']]);
  });

  test('give a record its key back from which somebody took it', async () => {
    const keyless = ours('a', '1', { k: '' });
    const { calls, labels, words, objects } = await run(
      SCOPE,
      { contacts: [keyless] },
      update('a', { lastname: 'A' }, '1'),
    );
    expect(labels).toEqual(['objects.read', 'objects.read', 'objects.update', 'objects.upsert']);
    expect(calls[1]?.body).toMatchObject({ inputs: [{ id: '1' }], properties: ['k', 's', 'email'] });
    expect(calls[2]?.body).toEqual({ inputs: [{ id: '1', properties: { k: keyOf('a') } }] });
    expect(words).toEqual(['written updated']);
    expect(objects.contacts).toHaveLength(1);
  });

  test.each([
    ['of another record', ours('b', '1', { k: '' })],
    ['without a stamp', { id: '1', values: {} }],
    ['that has a key', ours('a', '1', { k: keyOf('b') })],
  ])('leave a record alone %s, to which their id leads', async (_, record) => {
    const before = { ...record.values };
    const { labels, words, objects } = await run(SCOPE, { contacts: [record] }, update('a', {}, '1'));
    expect(labels).toEqual(['objects.read', 'objects.read', 'objects.upsert']);
    expect(words).toEqual(['written recreated']);
    expect(objects.contacts?.[0]?.values).toEqual(before);
  });
});

test('an update whose id leads to the record that theirs was merged into leaves that alone', async () => {
  const other = ours('b', '2', { k: '' });
  const { words, objects } = await run(SCOPE, { contacts: [other], mergedInto: { 1: '2' } }, update('a', {}, '1'));
  expect(words).toEqual(['written recreated']);
  expect(objects.contacts?.[0]).toEqual(ours('b', '2', { k: '' }));
});

describe('what belongs to a contact', () => {
  const [one, other] = [ours('one', 'c1'), ours('other', 'c2')];
  const contacts = [one, other];
  const of = (recordId: string | null) => ({ contactKey: recordId === null ? null : keyOf(recordId) });

  test('is written and joined with it', async () => {
    const {
      calls,
      labels,
      words,
      of: end,
    } = await run(DEALS, { contacts }, write('a', {}, of('one')), write('b', {}, of(null)));
    expect(labels).toEqual(['objects.read', 'objects.upsert', 'associations.create']);
    expect(calls[2]?.body.inputs).toEqual([{ from: { id: 'new-0' }, to: { id: 'c1' } }]);
    expect(words).toEqual(['written created', 'written created']);
    expect(end('a')).toMatchObject({ stored: of('one') });
  });

  test('that has none is written without any look', async () => {
    expect((await run(DEALS, { contacts }, write('b', {}, of(null)))).labels).toEqual(['objects.upsert']);
  });

  test('whose stamp somebody removed is written all the same', async () => {
    const deals = [{ id: 'd1', values: { k: keyOf('a') } }];
    expect((await run(DEALS, { contacts, deals }, update('a', {}, 'd1', of('one')))).words).toEqual([
      'written updated',
    ]);
  });

  test('is taken away from the contact of before also where its key had to be given back', async () => {
    const deals = [ours('a', 'd1', { k: '' }, of('one'))];
    const { calls, words } = await run(DEALS, { contacts, deals }, update('a', {}, 'd1', of('other')));
    const archived = calls.find(({ label }) => label === 'associations.archive');
    expect(archived?.body.inputs).toEqual([{ from: { id: 'd1' }, to: [{ id: 'c1' }] }]);
    expect(words).toEqual(['written updated']);
  });

  test('fails alone while its contact is not there', async () => {
    const { calls, words } = await run(DEALS, { contacts }, write('a', {}, of('nobody')), write('b', {}, of('other')));
    expect(words).toEqual(['failed remote/contact-missing', 'written created']);
    expect(calls.find(({ label }) => label === 'objects.upsert')?.body.inputs).toMatchObject([{ id: keyOf('b') }]);
  });

  test('fails when its contact goes meanwhile, or nothing is said of the joining', async () => {
    const notJoined = { 'new-0': 'refused', 'new-1': 'silence' } as const;
    const { words } = await run(
      DEALS,
      { contacts, notJoined },
      write('a', {}, of('one')),
      write('b', {}, of('one')),
      write('c', {}, of('one')),
    );
    expect(words).toEqual(['failed remote/contact-missing', 'failed remote/answer-missing', 'written created']);
  });

  test('is taken away from the contact of before, before the stamp names the new one', async () => {
    const deals = [ours('a', 'd1', {}, of('one')), ours('b', 'd2', {}, of('other')), ours('c', 'd3')];
    const writes = [
      update('a', {}, 'd1', of('other')),
      update('b', {}, 'd2', of('other')),
      update('c', {}, 'd3', of('one')),
    ];
    const { calls, labels } = await run(DEALS, { contacts, deals }, ...writes);
    expect(labels).toEqual([
      'objects.read',
      'objects.read',
      'associations.archive',
      'objects.upsert',
      'associations.create',
    ]);
    expect(calls[2]?.body.inputs).toEqual([{ from: { id: 'd1' }, to: [{ id: 'c1' }] }]);
  });

  test('is taken away too when it belongs to nobody now; from a contact that is gone there is nothing to take', async () => {
    const deals = [ours('a', 'd1', {}, of('one')), ours('b', 'd2', {}, of('gone'))];
    const { calls, labels, words } = await run(
      DEALS,
      { contacts, deals },
      update('a', {}, 'd1', of(null)),
      update('b', {}, 'd2', of('one')),
    );
    expect(labels).toContain('associations.archive');
    expect(calls.find(({ label }) => label === 'associations.archive')?.body.inputs).toEqual([
      { from: { id: 'd1' }, to: [{ id: 'c1' }] },
    ]);
    expect(words).toEqual(['written updated', 'written updated']);
  });
});

describe('a contact whose address HubSpot refuses', () => {
  const a = write('a', { email: 'a@x' });

  test.each([
    ['that belongs to another', taken(a.key)],
    ['that is none', invalid(a.key, ['INVALID_EMAIL'])],
    ['told by one code among others', invalid(a.key, ['VALIDATION_ERROR', 'INVALID_EMAIL'])],
    ['told by the property', invalid(a.key, ['VALIDATION_ERROR'], ['email'])],
  ])('for one %s is written without it', async (_, refusal) => {
    const info = vi.fn();
    const log = { ...silentLogger, info };
    const account: Account = {
      log,
      refuses: ({ id, properties }) => (id === a.key && properties.email !== '' ? refusal : undefined),
    };
    const { emails, words, of } = await run(SCOPE, account, a, write('b', { email: 'b@x' }));
    expect(emails).toEqual([['a@x', 'b@x'], ['']]);
    expect(words).toEqual(['written created', 'written created']);
    expect(of('a')).toMatchObject({ stored: { properties: { email: null } } });
    expect(info.mock.calls).toEqual([[{ count: 1 }, 'contacts are written without their e-mail address']]);
  });

  test.each([
    ['another property is wrong', SCOPE, a, invalid(a.key, ['INVALID_OPTION'], ['lastname'])],
    ['no code and another property is told', SCOPE, a, invalid(a.key, [], [], 'propertyName=lastname')],
    ['another value belongs to somebody else', SCOPE, a, invalid(a.key, ['CONFLICTING_UNIQUE_VALUE'], ['lastname'])],
    ['it has no address', SCOPE, write('a', { lastname: 'A' }), taken(a.key)],
    ['it is no contact', DEALS, a, taken(a.key)],
  ])('fails where %s', async (_, scope, operation, refusal) => {
    const { emails, words } = await run(scope, { refuses: () => refusal }, operation);
    expect(emails).toHaveLength(1);
    expect(words[0]).toMatch(/^failed/);
  });

  test('and that is refused without it too fails', async () => {
    const refuses = ({ properties }: Input) =>
      properties.email === '' ? invalid(a.key, ['INVALID_OPTION'], ['lastname']) : taken(a.key, '1');
    const { emails, words } = await run(
      SCOPE,
      { refuses, contacts: [ours('b', '1')] },
      a,
      update('b', { email: 'b@x' }, '1'),
    );
    expect(emails[0]).toEqual(['a@x', 'b@x']);
    expect(emails).toHaveLength(2);
    expect(words[0]).toMatch(/^failed/);
  });

  describe('and whose holder is written in the same call', () => {
    const contacts = () => [ours('a', '1', { email: 'a@x' }), ours('b', '2', { email: 'b@x' })];
    /** HubSpot lets nobody have the address of another. */
    const holding = (objects: Stored[]) => (input: Input) => {
      const holder = objects.find(
        ({ values }) => values.email === input.properties.email && values.email !== '' && values.k !== input.id,
      );
      return holder === undefined ? undefined : taken(input.id, holder.id);
    };

    test('has it after all when the other one gave it up, as when two exchange theirs', async () => {
      const both = contacts();
      const swap = [
        update('a', { lastname: 'A', email: 'b@x' }, '1'),
        update('b', { lastname: 'B', email: 'a@x' }, '2'),
      ];
      const { emails, words, of } = await run(
        SCOPE,
        { contacts: both, refuses: holding(both), untold: ['lastname'] },
        ...swap,
      );
      expect(emails).toEqual([
        ['', ''],
        ['b@x', 'a@x'],
      ]);
      expect(words).toEqual(['written updated', 'written updated']);
      expect(of('a')).toMatchObject({ stored: { properties: { lastname: 'A', email: 'b@x' } } });
      expect(of('b')).toMatchObject({ stored: { properties: { lastname: 'B', email: 'a@x' } } });
    });

    test('keeps what it was: a contact that was made in the call was made', async () => {
      const both = contacts();
      const { words, of } = await run(
        SCOPE,
        { contacts: both, refuses: holding(both) },
        write('c', { email: 'b@x' }),
        update('b', { email: 'new@x' }, '2'),
      );
      expect(words).toEqual(['written created', 'written updated']);
      expect(of('c')).toMatchObject({ stored: { properties: { email: 'b@x' } } });
    });

    test('stays without while the other one keeps it, however it is spelt, or is not of the call', async () => {
      const both = contacts();
      const kept = await run(
        SCOPE,
        { contacts: both, refuses: holding(both) },
        update('b', { email: 'B@x' }, '2'),
        write('c', { email: 'b@x' }),
      );
      expect(kept.words).toEqual(['written updated', 'written created']);
      // The other one was written first, under another spelling.
      const spelt = contacts();
      const refuses = (input: Input) =>
        input.id === keyOf('c') && input.properties.email !== '' ? taken(input.id, '2') : undefined;
      const again = await run(
        SCOPE,
        { contacts: spelt, refuses },
        write('c', { email: 'b@x' }),
        update('b', { email: 'B@X' }, '2'),
      );
      expect(again.emails).toEqual([['', 'B@X']]);
      const alone = await run(SCOPE, { contacts: contacts(), refuses }, write('c', { email: 'b@x' }));
      expect(alone.emails).toEqual([['b@x'], ['']]);
      const unnamed = (input: Input) =>
        input.id === keyOf('c') && input.properties.email !== '' ? taken(input.id) : undefined;
      const nobody = await run(
        SCOPE,
        { contacts: contacts(), refuses: unnamed },
        write('c', { email: 'b@x' }),
        update('b', { email: 'new@x' }, '2'),
      );
      expect(nobody.emails).toEqual([['', 'new@x'], ['b@x']]);
    });

    test('stays without when it is refused again', async () => {
      const refuses = (input: Input) =>
        input.id === keyOf('c') && input.properties.email !== '' ? taken(input.id, '2') : undefined;
      const { emails, words, of } = await run(
        SCOPE,
        { contacts: contacts(), refuses },
        write('c', { email: 'b@x' }),
        update('b', { email: 'new@x' }, '2'),
      );
      expect(emails).toEqual([['', 'new@x'], ['b@x']]);
      expect(words).toEqual(['written created', 'written updated']);
      expect(of('c')).toMatchObject({ stored: { properties: { email: null } } });
    });
  });
});
