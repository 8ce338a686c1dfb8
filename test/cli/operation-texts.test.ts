import { describe, expect, test } from 'vitest';
import { OPERATION_REMARKS, OPERATION_SENTENCES, OPERATION_TEXTS } from '../../src/cli/operation-texts.ts';
import { NOW } from '../sync/arbitraries.ts';

type Text = (result: object, input: object) => string;
const textOf = async (name: keyof typeof OPERATION_TEXTS) => (await OPERATION_TEXTS[name]?.()) as unknown as Text;

describe('the sentence of an operation', () => {
  test.each([
    ['revoked', /^The provider revoked the connection\. /],
    ['not-supported', /no revocation service: revoke access in the provider's account settings/],
    ['failed', /^Cannot revoke the connection with the provider/],
    ['nothing-to-revoke', /^No connection existed\. /],
  ])('says of a logout whether the provider ended the login too: %s', (revocation, says) => {
    const logOut = OPERATION_SENTENCES.logOut as unknown as Text;
    expect(logOut({ connection: 'dav', revocation }, {})).toMatch(says);
  });

  test('says of an opt-out whether anything was changed, and in which direction', async () => {
    const text = await textOf('optOut');
    expect(text({ lift: false, changed: true }, {})).toBe('The opt-out is saved.');
    expect(text({ lift: true, changed: true }, {})).toBe('The opt-out is removed.');
    expect(text({ lift: true, changed: false }, {})).toBe('Nothing changed.');
  });

  test('says of a reopened endpoint whether it was closed, and what becomes of what waits', async () => {
    const text = await textOf('reopenTriggerEndpoint');
    expect(text({ endpoint: 'erp', closed: null, skip: false }, {})).toBe(
      'Endpoint erp was not closed. The daemon sends pending messages now.',
    );
    expect(text({ endpoint: 'erp', closed: { code: 'webhook-gone', at: NOW }, skip: true }, {})).toBe(
      'Endpoint erp is open again. Pending messages are dropped.',
    );
  });

  test('says of a new address of a feed whether there was one, and that it is shown this once', async () => {
    const text = await textOf('rotateFeed');
    expect(text({ url: 'https://a.example/f', hadOne: true }, {})).toMatch(
      /^https:\/\/a\.example\/f\n\nThe previous URL is revoked\. The URL is shown only once/,
    );
    expect(text({ url: 'https://a.example/f', hadOne: false }, {})).not.toContain('previous');
  });

  test('says of an empty list of reminders what was asked for', async () => {
    const text = await textOf('listReminders');
    const none = { tenant: 'aurora', day: null, complete: true, reminders: [] };
    expect(text(none, { state: 'upcoming' })).toBe('No reminders are planned.');
    expect(text(none, { state: 'past' })).toBe('No reminders were sent or dropped.');
  });

  test('shows the faults of a configuration, or that there are none', async () => {
    const text = await textOf('checkConfiguration');
    const fault = { file: 'aurora', line: 2, path: 'zone', message: 'is no zone', remedy: 'correct it' };
    expect(text({ faults: [] }, {})).toBe('No faults found.');
    expect(text({ faults: [fault] }, {})).toContain('is no zone');
  });
});

describe('what goes to standard error beside the answer', () => {
  test('are the variables that an exported configuration needs, and nothing where it needs none', () => {
    const remark = OPERATION_REMARKS.exportConfiguration as unknown as Text;
    expect(remark({ file: 'aurora.yaml', variables: ['A', 'B'] }, {})).toBe('Set before aurora.yaml is read: A, B.\n');
    expect(remark({ file: 'aurora.yaml', variables: [] }, {})).toBe('');
  });

  test('is how a token is used and until when, so that standard output is the token alone', () => {
    const remark = OPERATION_REMARKS.createAccessToken as unknown as Text;
    expect(remark({ token: { endsAt: NOW } }, {})).toMatch(
      /^Valid until 2026-06-15 .*Authorization: Bearer <token>\n$/,
    );
    expect((OPERATION_SENTENCES.createAccessToken as unknown as Text)({ shown: 'cm_secret' }, {})).toBe('cm_secret');
  });
});
