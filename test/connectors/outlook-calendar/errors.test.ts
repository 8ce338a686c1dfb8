import { describe, expect, test } from 'vitest';
import {
  bodyOrChallenge,
  codesOf,
  errors,
  isConflict,
  isDuplicate,
  isFeedRefused,
  isGone,
  isNoSuchAction,
  mayMeanZone,
  notificationsRefused,
} from '../../../src/connectors/outlook-calendar/errors.ts';
import type { WireResponse } from '../../../src/connectors/wire.ts';

function answer(status: number, code?: string, innerError?: object): WireResponse {
  const body = code === undefined ? undefined : { error: { code, message: 'Anna Rossi', innerError } };
  return { status, body, retryAfterMs: null };
}

describe('an error of Microsoft', () => {
  test('is known by its innermost code, however deep and whichever way it is spelt', () => {
    const deep = answer(400, 'outer', { code: 'middle', innererror: { code: 'ErrorQuotaExceeded' } });
    expect(codesOf(deep)).toEqual(['ErrorQuotaExceeded', 'middle', 'outer']);
    expect(errors.of(deep)).toMatchObject({ code: 'mailbox-full', retryAfterMs: 3_600_000 });
    expect(codesOf({ body: 'text' })).toEqual([]);
  });

  test.each<[number, string | undefined, string]>([
    [403, undefined, 'calendar-forbidden'],
    [403, 'Authorization_RequestDenied', 'scope-missing'],
    [404, 'MailboxNotEnabledForRESTAPI', 'mailbox-unlicensed'],
    [404, 'Request_ResourceNotFound', 'mailbox-gone'],
    [503, 'ApplicationThrottled', 'rate-limited'],
    [409, 'ErrorIrresolvableConflict', 'changed-meanwhile'],
    [423, undefined, 'record-locked'],
    [424, undefined, 'batch-dependency'],
    [401, 'InvalidAuthenticationToken', 'login-refused'],
  ])('%i %s is %s', (status, code, expected) => {
    expect(errors.of(answer(status, code)).code).toBe(expected);
  });

  test('never repeats the words of the answer', () => {
    expect(errors.of(answer(400, 'SomethingNew')).message).not.toContain('Rossi');
  });
});

describe('an event', () => {
  test('is gone by its code, or by 404 and 410 if the mailbox exists', () => {
    expect([404, 410].map((status) => isGone(answer(status)))).toEqual([true, true]);
    expect(isGone(answer(400, 'ErrorInvalidIdMalformed'))).toBe(true);
    expect(isGone(answer(404, 'ErrorNonExistentMailbox'))).toBe(false);
    expect(isGone(answer(403))).toBe(false);
  });

  test('exists if the answer to an action concerns only the action', () => {
    expect([400, 404, 405, 501].map((status) => isNoSuchAction(answer(status)))).toEqual([true, true, true, true]);
    expect(isNoSuchAction(answer(404, 'ErrorItemNotFound'))).toBe(false);
    expect(isNoSuchAction(answer(404, 'ErrorNonExistentMailbox'))).toBe(false);
    expect(isNoSuchAction(answer(403))).toBe(false);
  });

  test('is in another state by 412, or by the code with any status', () => {
    expect(isConflict(answer(412))).toBe(true);
    expect(isConflict(answer(409, 'ErrorIrresolvableConflict'))).toBe(true);
    expect(isConflict(answer(409))).toBe(false);
  });

  test('may have been refused for its zone by a 400 that means nothing else', () => {
    expect(mayMeanZone(answer(400, 'TimeZoneNotSupportedException'))).toBe(true);
    for (const code of ['ErrorDuplicateTransactionId', 'ErrorItemNotFound', 'ErrorIrresolvableConflict'])
      expect(mayMeanZone(answer(400, code))).toBe(false);
    expect(mayMeanZone(answer(422))).toBe(false);
    expect(isDuplicate(answer(409, 'ErrorDuplicateTransactionId'))).toBe(true);
  });
});

test('a delta link is given up by its code in any case, or by the statuses of calendars without a feed', () => {
  expect(isFeedRefused(answer(500, 'SyncStateNotFound'))).toBe(true);
  expect([400, 403, 404, 405, 410, 501].every((status) => isFeedRefused(answer(status)))).toBe(true);
  expect([401, 429, 500, 503].some((status) => isFeedRefused(answer(status)))).toBe(false);
});

test('a claims challenge is only in the headers of a 401: claims-challenge', () => {
  const headers = new Headers({ 'www-authenticate': 'Bearer realm="", claims="eyJ"' });
  const body = bodyOrChallenge(401, headers, { error: { code: 'InvalidAuthenticationToken' } });
  expect(errors.of({ status: 401, body, retryAfterMs: null }).code).toBe('claims-challenge');
  expect(bodyOrChallenge(403, headers, 'body')).toBe('body');
  expect(bodyOrChallenge(401, new Headers(), 'body')).toBe('body');
});

test.each<[number, string | undefined, string]>([
  [400, 'ValidationError', 'notification-address-refused'],
  [403, undefined, 'notifications-forbidden'],
  [403, 'ErrorAccessDenied', 'notifications-forbidden'],
  [403, 'Authorization_RequestDenied', 'scope-missing'],
  [400, undefined, 'notifications-refused'],
  [429, undefined, 'rate-limited'],
])('a subscription that is answered %i %s: %s', (status, code, expected) => {
  expect(notificationsRefused(answer(status, code)).code).toBe(expected);
});
