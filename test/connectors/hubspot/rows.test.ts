import { describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { describeOutcome, keyOf } from '../../contract/contract-kit.ts';
import {
  type Account,
  DEALS,
  type Input,
  invalid,
  ours,
  run,
  SCOPE,
  type Stored,
  taken,
  update,
  write,
} from './scripted-account.ts';

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

  test('with two rows for one key send the last row, and report both', async () => {
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

  test('report no e-mail address if none was refused', async () => {
    const info = vi.fn();
    await run(SCOPE, { log: { ...silentLogger, info } }, write('a', { email: 'a@x' }));
    expect(info).not.toHaveBeenCalled();
  });

  test('that the answer omits may have been written', async () => {
    const { words } = await run(
      SCOPE,
      { refuses: ({ id }) => (id === keyOf('a') ? 'silence' : undefined) },
      write('a'),
      write('b'),
    );
    expect(words).toEqual(['failed remote/answer-missing', 'written created']);
  });
});
describe('a contact whose e-mail address HubSpot refuses', () => {
  const a = write('a', { email: 'a@x' });

  test.each([
    ['that belongs to another', taken(a.key)],
    ['that is none', invalid(a.key, ['INVALID_EMAIL'])],
    ['shown by one code among others', invalid(a.key, ['VALIDATION_ERROR', 'INVALID_EMAIL'])],
    ['shown by the property', invalid(a.key, ['VALIDATION_ERROR'], ['email'])],
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
    expect(info.mock.calls).toEqual([[{ count: 1 }, 'contacts were written without their e-mail address']]);
  });

  test.each([
    ['another property is wrong', SCOPE, a, invalid(a.key, ['INVALID_OPTION'], ['lastname'])],
    ['the error has no code and another property', SCOPE, a, invalid(a.key, [], [], 'propertyName=lastname')],
    ['another value belongs to another contact', SCOPE, a, invalid(a.key, ['CONFLICTING_UNIQUE_VALUE'], ['lastname'])],
    ['the contact has no e-mail address', SCOPE, write('a', { lastname: 'A' }), taken(a.key)],
    ['the object is no contact', DEALS, a, taken(a.key)],
  ])('fails if %s', async (_, scope, operation, refusal) => {
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
    /** HubSpot refuses an e-mail address that another contact has. */
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
