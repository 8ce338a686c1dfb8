import { describe, expect, test } from 'vitest';
import { OPERATION_REMARKS, OPERATION_SENTENCES, OPERATION_TEXTS } from '../../../src/operator/cli/operation-texts.ts';
import { NOW } from '../../domain/arbitraries.ts';

type Text = (result: object, input: object) => string;
const textOf = async (name: keyof typeof OPERATION_TEXTS) => (await OPERATION_TEXTS[name]?.()) as unknown as Text;

describe('the sentence of an operation', () => {
  test.each([
    ['revoked', /^The provider revoked the connection\. /],
    ['not-supported', /no revocation service: revoke access in the provider's account settings/],
    ['failed', /^Cannot revoke the connection with the provider/],
    ['nothing-to-revoke', /^No connection existed\. /],
  ])('of a logout says whether the provider revoked the connection too: %s', (revocation, says) => {
    const logOut = OPERATION_SENTENCES.logOut as unknown as Text;
    expect(logOut({ connection: 'dav', revocation }, {})).toMatch(says);
  });

  test('of an opt-out says whether anything changed, and in which direction', async () => {
    const text = await textOf('optOut');
    expect(text({ lift: false, changed: true }, {})).toBe('The opt-out is saved.');
    expect(text({ lift: true, changed: true }, {})).toBe('The opt-out is removed.');
    expect(text({ lift: true, changed: false }, {})).toBe('Nothing changed.');
  });

  test('of a reopened endpoint says whether it was closed, and whether pending messages are sent', async () => {
    const text = await textOf('reopenTriggerEndpoint');
    expect(text({ endpoint: 'erp', closed: null, skip: false }, {})).toBe(
      'Endpoint erp was not closed. The daemon sends pending messages now.',
    );
    expect(text({ endpoint: 'erp', closed: { code: 'webhook-gone', at: NOW }, skip: true }, {})).toBe(
      'Endpoint erp is open again. Pending messages are dropped.',
    );
  });

  test('of a new feed URL says whether a previous URL existed, and that the URL is shown only once', async () => {
    const text = await textOf('rotateFeed');
    expect(text({ url: 'https://a.example/f', hadOne: true }, {})).toMatch(
      /^https:\/\/a\.example\/f\n\nThe previous URL is revoked\. The URL is shown only once/,
    );
    expect(text({ url: 'https://a.example/f', hadOne: false }, {})).not.toContain('previous');
  });

  test('of an empty list of reminders says which state was requested', async () => {
    const text = await textOf('listReminders');
    const none = { tenant: 'aurora', day: null, complete: true, reminders: [] };
    expect(text(none, { state: 'upcoming' })).toBe('No reminders are planned.');
    expect(text(none, { state: 'past' })).toBe('No reminders were sent or dropped.');
  });

  test('shows the faults of a configuration, or that none exist', async () => {
    const text = await textOf('checkConfiguration');
    const fault = { file: 'aurora', line: 2, path: 'zone', message: 'is no zone', remedy: 'correct it' };
    expect(text({ faults: [] }, {})).toBe('No faults found.');
    expect(text({ faults: [fault] }, {})).toContain('is no zone');
  });
});

describe('standard error', () => {
  test('lists the variables that an exported configuration requires, and is empty if it requires none', () => {
    const remark = OPERATION_REMARKS.exportConfiguration as unknown as Text;
    expect(remark({ file: 'aurora.yaml', variables: ['A', 'B'] }, {})).toBe('Set before aurora.yaml is read: A, B.\n');
    expect(remark({ file: 'aurora.yaml', variables: [] }, {})).toBe('');
  });

  test('explains use and expiry of a token, so that standard output contains only the token', () => {
    const remark = OPERATION_REMARKS.createAccessToken as unknown as Text;
    expect(remark({ token: { endsAt: NOW } }, {})).toMatch(
      /^Valid until 2026-06-15 .*Authorization: Bearer <token>\n$/,
    );
    expect((OPERATION_SENTENCES.createAccessToken as unknown as Text)({ shown: 'cm_secret' }, {})).toBe('cm_secret');
  });
});
